//! The input of a response: new messages or outputs of functions, after items of earlier responses.

use contracts::request::{
    ChatCall, ChatContent as Content, ChatFile as InputFile, ChatMessage, ChatResult as FunctionOutput,
    InlineData, UserMessage,
};
use histories::Hint;
use serde_json::Value;

use agent::model::freeform;

use super::{ignored::ignore, members::Members, tools::flat_name};
use crate::{error::ApiError, files::FileId, id::ResponseId};

/// The new input of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A message of the user.
    Message(UserMessage),
    /// Outputs of the functions that the previous response called, and the user's text after them.
    Outputs(Vec<FunctionOutput>, Option<UserMessage>),
    /// The whole chat, in a request that names nothing to continue.
    Chat(Vec<ChatMessage>, Vec<Hint>),
}

/// The input of a request.
#[derive(Debug)]
pub(super) struct Items {
    /// The texts of system and developer messages.
    pub(super) system: Vec<String>,
    /// The other messages.
    pub(super) messages: Vec<ChatMessage>,
    /// The responses that ids in them name.
    pub(super) hints: Vec<Hint>,
    /// True if some messages are references, whose content is known to the service alone.
    pub(super) has_references: bool,
}

/// Messages after the response that a request continues from.
#[derive(Debug)]
pub(super) struct NewMessages {
    /// Those of other services, before the input.
    pub(super) ancestry: Vec<ChatMessage>,
    /// The input.
    pub(super) input: Input,
}

/// Reads `input`.
pub(super) fn read(members: &Members<'_>) -> Result<Items, ApiError> {
    let mut reader =
        Items { system: Vec::new(), messages: Vec::new(), hints: Vec::new(), has_references: false };
    match members.get("input") {
        None => return Err(members.missing("input")),
        Some(Value::String(text)) => {
            let message = UserMessage { text: text.clone(), ..UserMessage::default() };
            reader.messages.push(ChatMessage::User(message));
        }
        Some(Value::Array(items)) => {
            for (n, item) in items.iter().enumerate() {
                reader.item(item, &format!("input[{n}]"))?;
            }
        }
        Some(_) => return Err(members.rule("input", "must be a string or an array of items")),
    }
    let start = reader.after_last_reply();
    if reader.messages.len() <= start {
        return Err(members.rule("input", "must hold a new user message or outputs of functions"));
    }
    Ok(reader)
}

impl Items {
    fn after_last_reply(&self) -> usize {
        let is_reply =
            |message: &ChatMessage| matches!(message, ChatMessage::Assistant(_) | ChatMessage::Call(_));
        let hinted = self.hints.last().map_or(0, |hint| hint.message.saturating_add(1));
        self.messages.iter().rposition(is_reply).map_or(0, |last| last.saturating_add(1)).max(hinted)
    }

    /// Returns the response that the last item of an earlier response belongs to.
    pub(super) fn anchor(&self) -> Option<ResponseId> {
        self.hints.last().map(|hint| hint.turn.clone().into())
    }

    /// Returns the chat of a request that names nothing to continue. Messages without any reply are the input.
    pub(super) fn into_chat(self) -> Input {
        match self.after_last_reply() {
            0 => self.into_new().input,
            _ => Input::Chat(self.messages, self.hints),
        }
    }

    /// Returns the messages after the response that the request names. Items of that response and those before it are
    /// stored.
    pub(super) fn into_new(self) -> NewMessages {
        let start = self.after_last_reply();
        let stored = self.hints.last().map_or(0, |hint| hint.message.saturating_add(1));
        let (mut ancestry, mut outputs, mut joined) = (Vec::new(), Vec::new(), None::<UserMessage>);
        for (position, message) in self.messages.into_iter().enumerate().skip(stored) {
            match message {
                message if position < start => ancestry.push(message),
                ChatMessage::Result(output) => outputs.push(output),
                ChatMessage::User(message) => join(joined.get_or_insert_default(), message),
                _ => {}
            }
        }
        if !ancestry.is_empty() {
            ancestry.extend(outputs.drain(..).map(ChatMessage::Result));
        }
        let input = match joined {
            joined if !outputs.is_empty() => Input::Outputs(outputs, joined),
            joined => Input::Message(joined.unwrap_or_default()),
        };
        NewMessages { ancestry, input }
    }

    fn item(&mut self, item: &Value, path: &str) -> Result<(), ApiError> {
        let kind = item.get("type").and_then(Value::as_str).unwrap_or("message");
        let role = item.get("role").and_then(Value::as_str).unwrap_or_default();
        match (kind, role) {
            ("message", "user") => {
                let members = Members::read(item, path, &["type", "role", "content", "id", "status"])?;
                self.messages.push(ChatMessage::User(message(&members, path)?));
                Ok(())
            }
            ("message", "system" | "developer") => {
                let members = Members::read(item, path, &["type", "role", "content", "id", "status"])?;
                let message = message(&members, path)?;
                if !message.images.is_empty() || !message.files.is_empty() {
                    return Err(members.unsupported("content", "A system message may hold text alone."));
                }
                self.system.push(message.text);
                Ok(())
            }
            ("message", "assistant") | ("function_call" | "custom_tool_call" | "item_reference", _) => {
                self.reply(item, path)
            }
            // Only the service that wrote them can read reasoning and the results of a search.
            ("reasoning" | "web_search_call" | "file_search_call", _) => Ok(()),
            (kind, _) if is_output(kind) => {
                let known = ["type", "call_id", "output", "id", "status", "name", "namespace"];
                let members = Members::read(item, path, &known)?;
                let call_id = members.required_text("call_id")?.to_owned();
                let (output, images) = output(&members, path)?;
                self.messages.push(ChatMessage::Result(FunctionOutput { call_id, output, is_error: false }));
                if !images.is_empty() {
                    self.messages.push(ChatMessage::User(UserMessage { images, ..UserMessage::default() }));
                }
                Ok(())
            }
            ("message", _) => {
                Err(ApiError::value(&format!("{path}.role"), "must be user, system, developer or assistant"))
            }
            (kind, _) => {
                let alternative = format!("Items of type '{kind}' can't be sent.");
                Err(ApiError::unsupported(&format!("{path}.type"), &alternative))
            }
        }
    }

    /// Reads an item of the model. Its id may name a stored response, as may its call's id: some clients keep no other.
    fn reply(&mut self, item: &Value, path: &str) -> Result<(), ApiError> {
        let ids = ["id", "call_id"].into_iter().filter_map(|name| item.get(name)?.as_str());
        let named = ids.flat_map(|id| ResponseId::of_item(id).or_else(|| ResponseId::parse(id))).next();
        let message = match item.get("type").and_then(Value::as_str) {
            Some("function_call") => {
                let known = ["type", "id", "status", "call_id", "name", "namespace", "arguments"];
                let members = Members::read(item, path, &known)?;
                called(&members, members.text("arguments")?.unwrap_or_default().to_owned())?
            }
            Some("custom_tool_call") => {
                let known = ["type", "id", "status", "call_id", "name", "namespace", "input"];
                let members = Members::read(item, path, &known)?;
                called(&members, freeform::arguments(members.text("input")?.unwrap_or_default()))?
            }
            // The item itself isn't sent, so its content is unknown.
            Some("item_reference") if named.is_some() => {
                self.has_references = true;
                ChatMessage::Assistant(String::new())
            }
            Some("item_reference") => {
                let message = format!("'{path}.id' isn't the id of an item of this service.");
                return Err(ApiError::invalid(&format!("{path}.id"), "invalid_value", message));
            }
            _ => {
                let members =
                    Members::read(item, path, &["type", "role", "content", "id", "status", "phase"])?;
                ChatMessage::Assistant(answer(&members, path)?)
            }
        };
        if let Some(named) = named {
            self.hints.push(Hint { message: self.messages.len(), turn: named.into(), is_certain: false });
        }
        self.messages.push(message);
        Ok(())
    }
}

/// True for the types of outputs of calls.
pub(super) fn is_output(kind: &str) -> bool {
    matches!(kind, "function_call_output" | "custom_tool_call_output")
}

/// Reads a call with these arguments.
fn called(members: &Members<'_>, arguments: String) -> Result<ChatMessage, ApiError> {
    Ok(ChatMessage::Call(ChatCall {
        id: members.text("call_id")?.unwrap_or_default().to_owned(),
        name: flat_name(members.text("namespace")?, members.required_text("name")?),
        arguments,
    }))
}

/// Adds a message of the user to another one.
fn join(joined: &mut UserMessage, UserMessage { text, images, files }: UserMessage) {
    let gap = if joined.text.is_empty() || text.is_empty() { "" } else { "\n\n" };
    joined.text = format!("{}{gap}{text}", joined.text);
    joined.images.extend(images);
    joined.files.extend(files);
}

/// Reads the content of a message of the model.
fn answer(members: &Members<'_>, path: &str) -> Result<String, ApiError> {
    let parts = match members.get("content") {
        None => return Err(members.missing("content")),
        Some(Value::String(text)) => return Ok(text.clone()),
        Some(Value::Array(parts)) => parts,
        Some(_) => return Err(members.rule("content", "must be a string or an array of parts")),
    };
    let text = |(n, part): (usize, &Value)| {
        let path = format!("{path}.content[{n}]");
        match part.get("type").and_then(Value::as_str).unwrap_or_default() {
            "output_text" => {
                let known = ["type", "text", "annotations", "logprobs"];
                Members::read(part, &path, &known)?.required_text("text").map(str::to_owned)
            }
            "refusal" => {
                Members::read(part, &path, &["type", "refusal"])?.required_text("refusal").map(str::to_owned)
            }
            kind => {
                let alternative = format!("Parts of type '{kind}' can't be sent.");
                Err(ApiError::unsupported(&format!("{path}.type"), &alternative))
            }
        }
    };
    parts.iter().enumerate().map(text).collect::<Result<Vec<_>, _>>().map(|texts| texts.join("\n\n"))
}

/// Reads the content of a message.
fn message(members: &Members<'_>, path: &str) -> Result<UserMessage, ApiError> {
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
            "input_text" => texts.push(Members::read(part, &path, &["type", "text"])?.required_text("text")?),
            "input_image" => read.images.push(image(part, &path)?),
            "input_file" => read.files.push(file(part, &path, read.files.len())?),
            kind => {
                let alternative = format!("Parts of type '{kind}' can't be sent.");
                return Err(ApiError::unsupported(&format!("{path}.type"), &alternative));
            }
        }
    }
    read.text = texts.join("\n\n");
    Ok(read)
}

fn image(part: &Value, path: &str) -> Result<Content, ApiError> {
    let members = Members::read(part, path, &["type", "image_url", "detail", "file_id"])?;
    check_detail(&members)?;
    if let Some(file) = upload(&members, &["image_url"])? {
        return Ok(Content::Uploaded(file.to_string()));
    }
    let alternative = "Send the image itself, as a data: URL in base64, or upload it and send its 'file_id'.";
    let data = data_url(members.required_text("image_url")?);
    data.map(Content::Inline).ok_or_else(|| members.unsupported("image_url", alternative))
}

/// Checks the detail in which a model should see an image or a file, which is a hint.
pub(crate) fn check_detail(members: &Members<'_>) -> Result<(), ApiError> {
    match members.text("detail")? {
        None | Some("auto") => Ok(()),
        Some("low" | "high" | "original") if ignore(members.param("detail")) => Ok(()),
        Some(_) => Err(members.rule("detail", "must be 'auto', 'low', 'high' or 'original'")),
    }
}

fn file(part: &Value, path: &str, number: usize) -> Result<InputFile, ApiError> {
    let members =
        Members::read(part, path, &["type", "filename", "file_data", "file_id", "file_url", "detail"])?;
    if members.get("file_url").is_some() {
        return Err(members.unsupported("file_url", "Send 'file_data' with a data: URL, or 'file_id'."));
    }
    check_detail(&members)?;
    input_file(&members, &format!("file-{}", number.saturating_add(1)))
}

/// Reads a file, from `file_data` or `file_id`. `unnamed` is the name of a file without one.
pub(crate) fn input_file(members: &Members<'_>, unnamed: &str) -> Result<InputFile, ApiError> {
    let name = members.text("filename")?;
    if let Some(file) = upload(members, &["file_data"])? {
        let name = name.unwrap_or(&file.name).to_owned();
        return Ok(InputFile { name, content: Content::Uploaded(file.to_string()) });
    }
    let data = data_url(members.required_text("file_data")?);
    let data = data.ok_or_else(|| members.rule("file_data", "must be a data: URL in base64"))?;
    Ok(InputFile { name: name.unwrap_or(unnamed).to_owned(), content: Content::Inline(data) })
}

/// Reads `file_id`, which replaces the other members.
fn upload(members: &Members<'_>, others: &[&str]) -> Result<Option<FileId>, ApiError> {
    let Some(id) = members.text("file_id")? else { return Ok(None) };
    if let Some(other) = others.iter().find(|other| members.get(other).is_some()) {
        return Err(members.rule("file_id", &format!("can't be used together with '{other}'")));
    }
    let unknown = || ApiError::unknown_file(&members.param("file_id"), id);
    FileId::parse(id).map(Some).ok_or_else(unknown)
}

/// Reads the output of a function: a text, or parts with text and images. The images follow the results as a message.
fn output(members: &Members<'_>, path: &str) -> Result<(String, Vec<Content>), ApiError> {
    match members.get("output") {
        None => Err(members.missing("output")),
        Some(Value::String(text)) => Ok((text.clone(), Vec::new())),
        Some(Value::Array(parts)) => {
            let (mut texts, mut images) = (Vec::new(), Vec::new());
            for (n, part) in parts.iter().enumerate() {
                let path = format!("{path}.output[{n}]");
                match part.get("type").and_then(Value::as_str).unwrap_or_default() {
                    "input_text" => {
                        texts.push(Members::read(part, &path, &["type", "text"])?.required_text("text")?);
                    }
                    "input_image" => images.push(image(part, &path)?),
                    _ => {
                        let alternative = "Outputs of functions are text and images.";
                        return Err(ApiError::unsupported(&format!("{path}.type"), alternative));
                    }
                }
            }
            if texts.is_empty() && !images.is_empty() {
                texts.push("The image follows.");
            }
            Ok((texts.join("\n\n"), images))
        }
        Some(_) => Err(members.rule("output", "must be a string or an array of parts")),
    }
}

/// Splits a `data:` URL in base64.
pub(crate) fn data_url(url: &str) -> Option<InlineData> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let mime_type = head.strip_suffix(";base64")?.split(';').next()?.to_ascii_lowercase();
    (!mime_type.is_empty()).then(|| InlineData { mime_type, base64: data.to_owned() })
}
