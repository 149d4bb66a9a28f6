//! Reads the messages of a chat.

use serde_json::Value;

use super::history::{Chain, History, Point};
use crate::{
    error::ApiError,
    id::ResponseId,
    request::{Content, FunctionOutput, Input, InputFile, Members, UserMessage, data_url, input_file},
};

/// The messages of a request.
#[derive(Debug)]
pub(super) struct Messages {
    /// The texts of system and developer messages.
    pub(super) system: Vec<String>,
    /// The new input.
    pub(super) input: Input,
    /// The response that called the functions whose outputs are new.
    pub(super) caller: Option<ResponseId>,
    /// The earlier messages.
    pub(super) history: History,
}

/// Reads `messages`.
pub(super) fn read(members: &Members<'_>, agent: Option<&str>) -> Result<Messages, ApiError> {
    let messages = members.list("messages")?;
    if messages.is_empty() {
        return Err(members.missing("messages"));
    }
    let mut reader = Reader {
        chain: Chain::new(agent),
        system: Vec::new(),
        points: Vec::new(),
        transcript: Vec::new(),
        caller: None,
        user: None,
        outputs: Vec::new(),
    };
    for (n, message) in messages.iter().enumerate() {
        reader.message(message, &format!("messages[{n}]"))?;
    }
    let input = match (reader.user, reader.outputs) {
        (Some(_), outputs) if !outputs.is_empty() => {
            let rule = "can't hold a new message beside results of tools; send it after their answer";
            return Err(members.rule("messages", rule));
        }
        (Some(user), _) => Input::Message(user),
        (None, outputs) if !outputs.is_empty() => Input::Outputs(outputs),
        (None, _) => return Err(members.rule("messages", "must end with a user message or results of tools")),
    };
    let history = History {
        points: reader.points,
        hash: reader.chain.hash(),
        transcript: reader.transcript.join("\n\n"),
    };
    Ok(Messages { system: reader.system, input, caller: reader.caller, history })
}

struct Reader {
    chain: Chain,
    system: Vec<String>,
    points: Vec<Point>,
    transcript: Vec<String>,
    caller: Option<ResponseId>,
    user: Option<UserMessage>,
    outputs: Vec<FunctionOutput>,
}

impl Reader {
    fn message(&mut self, message: &Value, path: &str) -> Result<(), ApiError> {
        let known = [
            "role",
            "content",
            "name",
            "tool_calls",
            "tool_call_id",
            "refusal",
            "annotations",
            "audio",
            "function_call",
            "reasoning_content",
            "reasoning",
        ];
        let members = Members::read(message, path, &known)?;
        match members.required_text("role")? {
            "system" | "developer" => {
                self.system.push(content(&members, path)?.text);
                Ok(())
            }
            "user" => {
                let read = content(&members, path)?;
                let sent = members.get("content").map(Value::to_string).unwrap_or_default();
                self.chain.push("user", &sent);
                self.add_user(read);
                Ok(())
            }
            "assistant" => self.assistant(&members, path),
            "tool" => {
                let call_id = members.required_text("tool_call_id")?.to_owned();
                let output = content(&members, path)?.text;
                self.chain.push("tool", &format!("{call_id}/{output}"));
                self.outputs.push(FunctionOutput { call_id, output });
                Ok(())
            }
            role => {
                Err(ApiError::unsupported(&format!("{path}.role"), &format!("Role '{role}' can't be sent.")))
            }
        }
    }

    fn add_user(&mut self, UserMessage { text, images, files }: UserMessage) {
        let joined = self.user.get_or_insert_default();
        let gap = if joined.text.is_empty() || text.is_empty() { "" } else { "\n\n" };
        joined.text = format!("{}{gap}{text}", joined.text);
        joined.images.extend(images);
        joined.files.extend(files);
    }

    /// Reads a message of the model: everything before it is history.
    fn assistant(&mut self, members: &Members<'_>, path: &str) -> Result<(), ApiError> {
        let text = match members.get("content") {
            None => String::new(),
            Some(_) => content(members, path)?.text,
        };
        let calls = members.list("tool_calls")?;
        if let Some(user) = self.user.take() {
            self.transcript.push(format!("User: {}", user.text));
        }
        for FunctionOutput { output, .. } in self.outputs.drain(..) {
            self.transcript.push(format!("Tool: {output}"));
        }
        if !text.is_empty() {
            self.transcript.push(format!("Assistant: {text}"));
        }
        let ids: Vec<&str> = calls.iter().filter_map(|call| call["id"].as_str()).collect();
        if calls.is_empty() {
            let response = self.caller.take();
            self.points.push(Point { hash: self.chain.hash(), answer: text.clone(), response });
        } else {
            self.caller = ids.first().and_then(|id| ResponseId::of_item(id));
            if self.caller.is_none() {
                let param = format!("{path}.tool_calls");
                return Err(ApiError::unsupported(
                    &param,
                    "Tool calls of another service can't be continued.",
                ));
            }
        }
        self.chain.push("assistant", &format!("{}/{text}", ids.join(",")));
        Ok(())
    }
}

/// Reads the content of a message.
fn content(members: &Members<'_>, path: &str) -> Result<UserMessage, ApiError> {
    let parts = match members.get("content") {
        None => return Err(members.missing("content")),
        Some(Value::String(text)) => return Ok(UserMessage { text: text.clone(), ..UserMessage::default() }),
        Some(Value::Array(parts)) => parts,
        Some(_) => return Err(members.rule("content", "must be a string or an array of parts")),
    };
    let (mut texts, mut read) = (Vec::new(), UserMessage::default());
    for (n, part) in parts.iter().enumerate() {
        let path = format!("{path}.content[{n}]");
        match part.get("type").and_then(Value::as_str).unwrap_or_default() {
            "text" => texts.push(Members::read(part, &path, &["type", "text"])?.required_text("text")?),
            "image_url" => {
                let members = Members::read(part, &path, &["type", "image_url"])?;
                let url = members.get("image_url").ok_or_else(|| members.missing("image_url"))?;
                let url = Members::read(url, &members.param("image_url"), &["url", "detail"])?;
                if url.text("detail")?.is_some_and(|detail| detail != "auto") {
                    return Err(url.unsupported("detail", "Use 'auto'."));
                }
                let data = data_url(url.required_text("url")?);
                let alternative = "Send the image itself, as a data: URL in base64.";
                let data = data.ok_or_else(|| url.unsupported("url", alternative))?;
                read.images.push(Content::Inline(data));
            }
            "file" => read.files.push(file(part, &path)?),
            kind => {
                let alternative = format!("Parts of type '{kind}' can't be sent.");
                return Err(ApiError::unsupported(&format!("{path}.type"), &alternative));
            }
        }
    }
    read.text = texts.join("\n\n");
    Ok(read)
}

fn file(part: &Value, path: &str) -> Result<InputFile, ApiError> {
    let members = Members::read(part, path, &["type", "file"])?;
    let file = members.get("file").ok_or_else(|| members.missing("file"))?;
    let file = Members::read(file, &members.param("file"), &["filename", "file_data", "file_id"])?;
    input_file(&file, "file")
}
