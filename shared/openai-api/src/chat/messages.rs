//! Reads the messages of a chat.

use agent::model::freeform;
use contracts::request::{
    ChatCall, ChatContent as Content, ChatFile as InputFile, ChatMessage, ChatResult, UserMessage,
};
use histories::Hint;
use serde_json::Value;

use crate::{
    error::ApiError,
    id::ResponseId,
    request::{Members, check_detail, data_url, input_file},
};

/// The messages of a request.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// The texts of system and developer messages.
    pub(super) system: Vec<String>,
    /// The other messages.
    pub(super) messages: Vec<ChatMessage>,
    /// The responses that ids of calls name.
    pub(super) hints: Vec<Hint>,
}

/// Reads `messages`.
pub(super) fn read(members: &Members<'_>) -> Result<Messages, ApiError> {
    let messages = members.list("messages")?;
    if messages.is_empty() {
        return Err(members.missing("messages"));
    }
    let mut read = Messages::default();
    for (n, message) in messages.iter().enumerate() {
        read.message(message, &format!("messages[{n}]"))?;
    }
    match read.messages.last() {
        Some(ChatMessage::User(_) | ChatMessage::Result(_)) => Ok(read),
        _ => Err(members.rule("messages", "must end with a user message or results of tools")),
    }
}

impl Messages {
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
            "system" | "developer" => self.system.push(content(&members, path)?.text),
            "user" => self.messages.push(ChatMessage::User(content(&members, path)?)),
            "assistant" => self.assistant(&members, path)?,
            "tool" => {
                let call_id = members.required_text("tool_call_id")?.to_owned();
                self.result(call_id, content(&members, path)?.text);
            }
            // The form before tools: a call without an id, whose result names the function.
            "function" => self.result(String::new(), content(&members, path)?.text),
            role => {
                let alternative = format!("Role '{role}' can't be sent.");
                return Err(ApiError::unsupported(&format!("{path}.role"), &alternative));
            }
        }
        Ok(())
    }

    fn result(&mut self, call_id: String, output: String) {
        self.messages.push(ChatMessage::Result(ChatResult { call_id, output, is_error: false }));
    }

    /// Reads a message of the model: a text or a refusal, then calls.
    fn assistant(&mut self, members: &Members<'_>, path: &str) -> Result<(), ApiError> {
        let text = match (members.get("content"), members.text("refusal")?) {
            (Some(_), _) => content(members, path)?.text,
            (None, refusal) => refusal.unwrap_or_default().to_owned(),
        };
        let calls = members.list("tool_calls")?;
        let legacy = members.get("function_call");
        if !text.is_empty() || calls.is_empty() && legacy.is_none() {
            self.messages.push(ChatMessage::Assistant(text));
        }
        for call in calls {
            let id = call["id"].as_str().unwrap_or_default();
            let function = if call["function"].is_object() { &call["function"] } else { &call["custom"] };
            self.call(id, function, path)?;
        }
        match legacy {
            Some(function) => self.call("", function, path),
            None => Ok(()),
        }
    }

    fn call(&mut self, id: &str, function: &Value, path: &str) -> Result<(), ApiError> {
        let Some(name) = function["name"].as_str() else {
            return Err(ApiError::value(
                &format!("{path}.tool_calls"),
                "must name the function of each call",
            ));
        };
        let input = function["input"].as_str().map(freeform::arguments);
        let arguments = function["arguments"].as_str().map(str::to_owned).or(input);
        if let Some(response) = ResponseId::of_item(id) {
            self.hints.push(Hint { message: self.messages.len(), turn: response.into(), is_certain: false });
        }
        self.messages.push(ChatMessage::Call(ChatCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.unwrap_or_default(),
        }));
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
            "refusal" => {
                texts.push(Members::read(part, &path, &["type", "refusal"])?.required_text("refusal")?);
            }
            // Only the service that wrote reasoning can read it.
            "thinking" | "reasoning" | "redacted_thinking" => {}
            "image_url" => {
                let members = Members::read(part, &path, &["type", "image_url"])?;
                let url = members.get("image_url").ok_or_else(|| members.missing("image_url"))?;
                let url = Members::read(url, &members.param("image_url"), &["url", "detail"])?;
                check_detail(&url)?;
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
