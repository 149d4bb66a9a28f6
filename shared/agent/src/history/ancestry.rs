//! The messages before a turn's input that no stored turn has: the history that a client brought, role by role.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use contracts::{
    request::{ChatContent, ChatFile, ChatMessage, ChatResult, ImageType, UserMessage},
    response::ToolOutcome,
};

use crate::{
    model::{
        Attachment, FunctionCall, HistoryItem, Instruction, Message, ReplyItem, ToolOutput, attached_tokens,
    },
    text::{
        block::{fenced, one_line},
        tokens,
    },
    tool::rounds::CallIds,
};

/// The result of a call that the client brought none for.
const NO_RESULT: &str = "The call has no result.";

/// Messages as items of a replay.
#[derive(Debug, Default)]
pub(crate) struct RenderedAncestry {
    /// The messages and replies, in order.
    pub(crate) items: Vec<HistoryItem>,
    /// The results of the last reply's calls, which the turn's own message brings.
    pub(crate) tool_outputs: Vec<ToolOutput>,
}

/// Estimates the tokens of messages.
#[must_use]
pub fn estimate(messages: &[ChatMessage]) -> u32 {
    messages.iter().map(message_tokens).fold(0, u32::saturating_add)
}

/// Returns the newest messages that fit into so many tokens, from a message of the user on.
pub(crate) fn newest(messages: &[ChatMessage], token_budget: u32) -> &[ChatMessage] {
    if estimate(messages) <= token_budget {
        return messages;
    }
    let starts = messages.iter().enumerate().filter(|(_, message)| matches!(message, ChatMessage::User(_)));
    let mut suffixes = starts.filter_map(|(start, _)| messages.get(start..));
    let fits = |suffix: &&[ChatMessage]| estimate(suffix) <= token_budget;
    suffixes.find(fits).unwrap_or_else(|| results_of_last_reply(messages))
}

/// Returns the last reply with its results, if the messages end with results. Without their calls, no provider accepts them.
fn results_of_last_reply(messages: &[ChatMessage]) -> &[ChatMessage] {
    let last = messages.iter().rposition(|message| !matches!(message, ChatMessage::Result(_)));
    let is_call = |message: &ChatMessage| matches!(message, ChatMessage::Call(_));
    let Some(last) = last.filter(|last| messages.get(*last).is_some_and(is_call)) else { return &[] };
    let before = messages.get(..=last).unwrap_or_default();
    let start =
        before.iter().rposition(|message| !is_call(message)).map_or(0, |before| before.saturating_add(1));
    messages.get(start..).unwrap_or_default()
}

/// Renders messages. Calls get ids of our own, which every provider accepts.
pub(crate) fn render(messages: &[ChatMessage], mode: &str, ids: &mut CallIds) -> RenderedAncestry {
    let mut writer =
        Writer { mode, ids, items: Vec::new(), reply: Vec::new(), calls: Vec::new(), message: None };
    for (n, message) in messages.iter().enumerate() {
        writer.write(n, message);
    }
    writer.finish()
}

/// A call of the current reply.
struct OpenCall {
    client_id: String,
    call: FunctionCall,
    outcome: Option<ToolOutcome>,
}

struct Writer<'a> {
    mode: &'a str,
    ids: &'a mut CallIds,
    items: Vec<HistoryItem>,
    reply: Vec<ReplyItem>,
    calls: Vec<OpenCall>,
    message: Option<Message>,
}

impl Writer<'_> {
    fn write(&mut self, n: usize, message: &ChatMessage) {
        match message {
            ChatMessage::User(user) => self.user(user),
            ChatMessage::System(text) => {
                self.user(&UserMessage { text: text.clone(), ..UserMessage::default() });
            }
            ChatMessage::Assistant(text) => {
                self.begin_reply();
                if !text.trim().is_empty() {
                    self.reply.push(ReplyItem::Text { text: text.clone(), phase: None });
                }
            }
            ChatMessage::Call(call) => {
                self.begin_reply();
                let client_id = call.id.clone();
                let call = self.ids.foreign_call(&format!("ancestry/{n}"), &call.name, &call.arguments);
                self.reply.push(ReplyItem::Call(call.clone()));
                self.calls.push(OpenCall { client_id, call, outcome: None });
            }
            ChatMessage::Result(result) => self.result(result),
        }
    }

    /// Begins a reply, or continues it if nothing came after it.
    fn begin_reply(&mut self) {
        let has_results = self.calls.iter().any(|call| call.outcome.is_some());
        if self.message.is_some() || has_results {
            self.end_message();
        }
    }

    fn result(&mut self, ChatResult { call_id, output, is_error }: &ChatResult) {
        let named = |call: &&mut OpenCall| !call_id.is_empty() && call.client_id == *call_id;
        let open = match self.calls.iter().position(|call| !call_id.is_empty() && call.client_id == *call_id)
        {
            Some(_) => self.calls.iter_mut().find(named),
            None => self.calls.iter_mut().find(|call| call.outcome.is_none()),
        };
        match open {
            Some(open) if *is_error => open.outcome = Some(ToolOutcome::ErrorMessage(output.clone())),
            Some(open) => open.outcome = Some(ToolOutcome::ResultJson(result_json(output))),
            // Its call was left out. No provider accepts such a result.
            None => self.user(&UserMessage { text: output.clone(), ..UserMessage::default() }),
        }
    }

    fn user(&mut self, user: &UserMessage) {
        self.end_reply();
        let outputs = self.take_outputs();
        let message = self.message.get_or_insert_with(|| Message::in_mode(self.mode));
        message.tool_outputs.extend(outputs);
        let before = match &message.instruction {
            Instruction::User(text) if !text.is_empty() => format!("{text}\n\n"),
            _ => String::new(),
        };
        if !user.text.is_empty() {
            message.instruction = Instruction::User(format!("{before}{}", user.text));
        } else if message.instruction == Instruction::ToolResults {
            message.instruction = Instruction::FilesAlone;
        }
        message.attachments.extend(user.images.iter().filter_map(image));
        for file in &user.files {
            match attachment(file) {
                Some(FileForm::Part(part)) => message.attachments.push(part),
                Some(FileForm::Text(text)) => {
                    let block = message.files_block.get_or_insert_default();
                    block.push_str(&text);
                }
                None => {}
            }
        }
    }

    fn end_reply(&mut self) {
        if !self.reply.is_empty() {
            self.items.push(HistoryItem::Reply(std::mem::take(&mut self.reply)));
        }
    }

    fn take_outputs(&mut self) -> Vec<ToolOutput> {
        let outputs = self.calls.drain(..).map(|open| ToolOutput {
            call: open.call,
            outcome: open.outcome.unwrap_or_else(|| ToolOutcome::ErrorMessage(NO_RESULT.to_owned())),
        });
        outputs.collect()
    }

    /// Ends the message after a reply, which brings the results of its calls.
    fn end_message(&mut self) {
        self.end_reply();
        let outputs = self.take_outputs();
        let message = match self.message.take() {
            Some(message) => message,
            None => Message { tool_outputs: outputs, ..Message::in_mode(self.mode) },
        };
        self.items.push(HistoryItem::Message(message));
    }

    fn finish(mut self) -> RenderedAncestry {
        self.end_reply();
        let tool_outputs = self.take_outputs();
        self.items.extend(self.message.take().map(HistoryItem::Message));
        RenderedAncestry { items: self.items, tool_outputs }
    }
}

/// A file as the model gets it.
enum FileForm {
    Part(Attachment),
    Text(String),
}

fn attachment(ChatFile { name, content }: &ChatFile) -> Option<FileForm> {
    let bytes = bytes(content)?;
    if bytes.starts_with(b"%PDF-") {
        let media_type = "application/pdf".to_owned();
        return Some(FileForm::Part(Attachment::File { name: name.clone(), media_type, bytes }));
    }
    if let Some(kind) = ImageType::from_signature(&bytes) {
        return Some(FileForm::Part(Attachment::Image { media_type: kind.mime_type().to_owned(), bytes }));
    }
    let text = std::str::from_utf8(&bytes).ok()?;
    Some(FileForm::Text(format!("[FILE: {}]\n{}", one_line(name), fenced(text, ""))))
}

fn image(content: &ChatContent) -> Option<Attachment> {
    let bytes = bytes(content)?;
    let kind = ImageType::from_signature(&bytes)?;
    Some(Attachment::Image { media_type: kind.mime_type().to_owned(), bytes })
}

fn bytes(content: &ChatContent) -> Option<Bytes> {
    match content {
        ChatContent::Inline(data) => STANDARD.decode(&data.base64).ok().map(Bytes::from),
        ChatContent::Uploaded(_) => None,
    }
}

fn message_tokens(message: &ChatMessage) -> u32 {
    let content = |content: &ChatContent| match content {
        ChatContent::Inline(data) => {
            u32::try_from(attached_tokens(data.base64.len() / 4 * 3)).unwrap_or(u32::MAX)
        }
        ChatContent::Uploaded(_) => 0,
    };
    let texts = match message {
        ChatMessage::User(UserMessage { text, images, files }) => {
            let contents = images.iter().chain(files.iter().map(|file| &file.content)).map(content);
            contents.fold(tokens(text), u32::saturating_add)
        }
        ChatMessage::System(text) | ChatMessage::Assistant(text) => tokens(text),
        ChatMessage::Call(call) => tokens(&call.arguments).saturating_add(tokens(&call.name)),
        ChatMessage::Result(result) => tokens(&result.output),
    };
    texts.saturating_add(MESSAGE_OVERHEAD_TOKENS)
}

/// Estimated overhead of a message besides its texts, in tokens.
const MESSAGE_OVERHEAD_TOKENS: u32 = 8;

/// Returns an output as a JSON text: as it is if it is one, else as a JSON string.
fn result_json(output: &str) -> String {
    let is_json = serde_json::from_str::<serde_json::Value>(output).is_ok();
    if is_json { output.to_owned() } else { serde_json::Value::from(output).to_string() }
}

#[cfg(test)]
mod tests {
    use contracts::request::ChatCall;

    use super::*;

    fn user(text: &str) -> ChatMessage {
        ChatMessage::User(UserMessage { text: text.to_owned(), ..UserMessage::default() })
    }

    fn assistant(text: &str) -> ChatMessage {
        ChatMessage::Assistant(text.to_owned())
    }

    fn call(id: &str) -> ChatMessage {
        ChatMessage::Call(ChatCall { id: id.to_owned(), name: "f".to_owned(), arguments: "{}".to_owned() })
    }

    fn result(call_id: &str, output: &str) -> ChatMessage {
        let (call_id, output) = (call_id.to_owned(), output.to_owned());
        ChatMessage::Result(ChatResult { call_id, output, is_error: false })
    }

    /// The rendered messages: what a message says and which results it brings, what a reply says and calls.
    fn rendered(messages: &[ChatMessage]) -> (Vec<String>, usize) {
        let RenderedAncestry { items, tool_outputs } = render(messages, "general", &mut CallIds::default());
        let outcome = |output: &ToolOutput| match &output.outcome {
            ToolOutcome::ResultJson(text) => text.clone(),
            ToolOutcome::ErrorMessage(text) => format!("error {text}"),
        };
        let line = |item: HistoryItem| match item {
            HistoryItem::Message(message) => {
                let outputs: Vec<String> = message.tool_outputs.iter().map(outcome).collect();
                let text = match message.instruction {
                    Instruction::User(text) => text,
                    Instruction::FilesAlone => "files".to_owned(),
                    Instruction::ToolResults => String::new(),
                };
                format!("user {text}{outputs:?}")
            }
            HistoryItem::Reply(reply) => {
                let items = reply.into_iter().map(|item| match item {
                    ReplyItem::Text { text, .. } => text,
                    ReplyItem::Call(call) => {
                        assert_eq!(call.call_id.len(), 9, "an id of our own");
                        format!("{}({})", call.name, call.arguments)
                    }
                    ReplyItem::Reasoning(_) | ReplyItem::Hosted(_) => panic!("nobody sent that"),
                });
                format!("model {}", items.collect::<Vec<_>>().join("+"))
            }
        };
        (items.into_iter().map(line).collect(), tool_outputs.len())
    }

    #[test]
    fn messages_keep_their_roles_and_order() {
        let messages = [
            user("a"),
            assistant("Let me look."),
            call("1"),
            call("2"),
            result("2", "two"),
            result("1", "1"),
            user("b"),
            assistant("c"),
            user("d"),
            call("1"),
            result("1", "x"),
            call("3"),
            result("", "y"),
        ];
        let expected = [
            "user a[]",
            "model Let me look.+f({})+f({})",
            r#"user b["1", "\"two\""]"#,
            "model c",
            "user d[]",
            "model f({})",
            r#"user ["\"x\""]"#,
            "model f({})",
        ];
        let (lines, outputs) = rendered(&messages);
        assert_eq!((lines, outputs), (expected.map(str::to_owned).to_vec(), 1));
    }

    #[test]
    fn calls_without_results_and_results_without_calls_are_sent_as_accepted() {
        let (lines, outputs) = rendered(&[user("a"), call("1"), user("b"), assistant("c"), result("9", "x")]);
        let expected =
            ["user a[]", "model f({})", r#"user b["error The call has no result."]"#, "model c", "user x[]"];
        assert_eq!((lines, outputs), (expected.map(str::to_owned).to_vec(), 0));
    }

    #[test]
    fn newest_messages_begin_with_one_of_the_user() {
        let long = "x".repeat(3_000);
        let messages = [user(&long), assistant("b"), user("c"), assistant("d")];
        assert_eq!(newest(&messages, u32::MAX), &messages);
        assert_eq!(newest(&messages, 100), &messages[2..]);
        assert!(newest(&messages, 0).is_empty());
        let open = [user(&long), call("1"), call("2"), result("1", &long), result("2", "x")];
        assert_eq!(newest(&open, 10), &open[1..], "results need their calls");
    }
}
