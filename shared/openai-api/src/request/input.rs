//! The input of a response: new messages or outputs of functions, after items of earlier responses.

use serde_json::Value;

use super::members::Members;
use crate::{error::ApiError, files::FileId, id::ResponseId};

/// The new input of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A message of the user.
    Message(UserMessage),
    /// Outputs of the functions that the previous response called.
    Outputs(Vec<FunctionOutput>),
}

/// A message of the user. Several messages are joined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserMessage {
    /// The text.
    pub text: String,
    /// The images.
    pub images: Vec<Content>,
    /// The files.
    pub files: Vec<InputFile>,
}

/// The content of an image or a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// In the request.
    Inline(InlineData),
    /// In a file that was uploaded before.
    Uploaded(FileId),
}

/// Data in a `data:` URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineData {
    /// The media type.
    pub mime_type: String,
    /// The data in base64.
    pub base64: String,
}

/// A file of the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFile {
    /// The name.
    pub name: String,
    /// The content.
    pub content: Content,
}

impl Content {
    /// Returns the uploaded file, if the content isn't inline.
    pub(crate) fn upload(&self) -> Option<&FileId> {
        match self {
            Self::Inline(_) => None,
            Self::Uploaded(file) => Some(file),
        }
    }

    /// Returns the inline content.
    ///
    /// # Errors
    /// If it is in a file that wasn't read.
    pub(super) fn inline(&self) -> Result<&InlineData, ApiError> {
        match self {
            Self::Inline(data) => Ok(data),
            Self::Uploaded(file) => Err(ApiError::unknown_file("input", &file.to_string())),
        }
    }
}

/// The output of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionOutput {
    /// The call.
    pub call_id: String,
    /// The output.
    pub output: String,
}

/// The input of a request.
#[derive(Debug)]
pub(super) struct Items {
    /// The response that the last item of an earlier response belongs to.
    pub(super) anchor: Option<ResponseId>,
    /// The texts of system and developer messages.
    pub(super) system: Vec<String>,
    /// The new input.
    pub(super) input: Input,
}

/// Reads `input`.
pub(super) fn read(members: &Members<'_>) -> Result<Items, ApiError> {
    let items = match members.get("input") {
        None => return Err(members.missing("input")),
        Some(Value::String(text)) => {
            let input = Input::Message(UserMessage { text: text.clone(), ..UserMessage::default() });
            return Ok(Items { anchor: None, system: Vec::new(), input });
        }
        Some(Value::Array(items)) => items,
        Some(_) => return Err(members.rule("input", "must be a string or an array of items")),
    };
    let mut reader = Reader::default();
    for (n, item) in items.iter().enumerate() {
        reader.item(item, &format!("input[{n}]"))?;
    }
    let Reader { anchor, system, transcript, foreign_call, message, outputs } = reader;
    let input = match (message, outputs) {
        (Some(_), outputs) if !outputs.is_empty() => {
            let rule = "can't hold a new message beside outputs of functions; send it after their response";
            return Err(members.rule("input", rule));
        }
        (Some(mut message), _) => {
            if !transcript.is_empty() {
                message.text = format!("{}\n\nUser: {}", transcript.join("\n\n"), message.text);
            }
            Input::Message(message)
        }
        (None, outputs) if !outputs.is_empty() => match foreign_call {
            None => Input::Outputs(outputs),
            Some(path) => {
                let alternative = "Function calls of another service can't be continued.";
                return Err(ApiError::unsupported(&path, alternative));
            }
        },
        (None, _) => {
            return Err(members.rule("input", "must hold a new user message or outputs of functions"));
        }
    };
    Ok(Items { anchor, system, input })
}

#[derive(Default)]
struct Reader {
    anchor: Option<ResponseId>,
    system: Vec<String>,
    /// Earlier messages that no stored response has, as text.
    transcript: Vec<String>,
    /// The last function call, if no stored response has it.
    foreign_call: Option<String>,
    message: Option<UserMessage>,
    outputs: Vec<FunctionOutput>,
}

impl Reader {
    fn item(&mut self, item: &Value, path: &str) -> Result<(), ApiError> {
        let kind = item.get("type").and_then(Value::as_str).unwrap_or("message");
        let role = item.get("role").and_then(Value::as_str).unwrap_or_default();
        match (kind, role) {
            ("message", "user") => self.user(item, path),
            ("message", "system" | "developer") => {
                let members = Members::read(item, path, &["type", "role", "content", "id", "status"])?;
                let message = message(&members, path)?;
                if !message.images.is_empty() || !message.files.is_empty() {
                    return Err(members.unsupported("content", "A system message may hold text alone."));
                }
                self.system.push(message.text);
                Ok(())
            }
            ("message", "assistant") | ("function_call" | "item_reference", _) => self.earlier(item, path),
            ("function_call_output", _) => {
                let members = Members::read(item, path, &["type", "call_id", "output", "id", "status"])?;
                let call_id = members.required_text("call_id")?.to_owned();
                self.outputs.push(FunctionOutput { call_id, output: output(&members, path)? });
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

    fn user(&mut self, item: &Value, path: &str) -> Result<(), ApiError> {
        let members = Members::read(item, path, &["type", "role", "content", "id", "status"])?;
        let UserMessage { text, images, files } = message(&members, path)?;
        let joined = self.message.get_or_insert_default();
        let gap = if joined.text.is_empty() || text.is_empty() { "" } else { "\n\n" };
        joined.text = format!("{}{gap}{text}", joined.text);
        joined.images.extend(images);
        joined.files.extend(files);
        Ok(())
    }

    /// Reads an item of the model. An item of a stored response is known by its id, or by its call's id, since some clients
    /// keep no other; everything before it is stored too. Others go to the model as text.
    fn earlier(&mut self, item: &Value, path: &str) -> Result<(), ApiError> {
        let ids = ["id", "call_id"].into_iter().filter_map(|name| item.get(name)?.as_str());
        let anchor = ids.flat_map(|id| ResponseId::of_item(id).or_else(|| ResponseId::parse(id))).next();
        if let Some(anchor) = anchor {
            *self =
                Self { anchor: Some(anchor), system: std::mem::take(&mut self.system), ..Self::default() };
            return Ok(());
        }
        let said = match item.get("type").and_then(Value::as_str) {
            Some("function_call") => {
                let members =
                    Members::read(item, path, &["type", "id", "status", "call_id", "name", "arguments"])?;
                self.foreign_call = Some(path.to_owned());
                let arguments = members.text("arguments")?.unwrap_or_default();
                format!("{}({arguments})", members.required_text("name")?)
            }
            Some("item_reference") => {
                let message = format!("'{path}.id' isn't the id of an item of this service.");
                return Err(ApiError::invalid(&format!("{path}.id"), "invalid_value", message));
            }
            _ => {
                let members =
                    Members::read(item, path, &["type", "role", "content", "id", "status", "phase"])?;
                self.foreign_call = None;
                answer(&members, path)?
            }
        };
        self.transcript.extend(self.message.take().map(|message| format!("User: {}", message.text)));
        self.transcript.extend(self.outputs.drain(..).map(|output| format!("Tool: {}", output.output)));
        if !said.is_empty() {
            self.transcript.push(format!("Assistant: {said}"));
        }
        Ok(())
    }
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
    if members.text("detail")?.is_some_and(|detail| detail != "auto") {
        return Err(members.unsupported("detail", "Use 'auto'."));
    }
    if let Some(file) = upload(&members, &["image_url"])? {
        return Ok(Content::Uploaded(file));
    }
    let alternative = "Send the image itself, as a data: URL in base64, or upload it and send its 'file_id'.";
    let data = data_url(members.required_text("image_url")?);
    data.map(Content::Inline).ok_or_else(|| members.unsupported("image_url", alternative))
}

fn file(part: &Value, path: &str, number: usize) -> Result<InputFile, ApiError> {
    let members =
        Members::read(part, path, &["type", "filename", "file_data", "file_id", "file_url", "detail"])?;
    if members.get("file_url").is_some() {
        return Err(members.unsupported("file_url", "Send 'file_data' with a data: URL, or 'file_id'."));
    }
    if members.text("detail")?.is_some_and(|detail| detail != "auto") {
        return Err(members.unsupported("detail", "Use 'auto'."));
    }
    input_file(&members, &format!("file-{}", number.saturating_add(1)))
}

/// Reads a file, from `file_data` or `file_id`. `unnamed` is the name of a file without one.
pub(crate) fn input_file(members: &Members<'_>, unnamed: &str) -> Result<InputFile, ApiError> {
    let name = members.text("filename")?;
    if let Some(file) = upload(members, &["file_data"])? {
        let name = name.unwrap_or(&file.name).to_owned();
        return Ok(InputFile { name, content: Content::Uploaded(file) });
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

/// Reads the output of a function: a text, or parts of text.
fn output(members: &Members<'_>, path: &str) -> Result<String, ApiError> {
    match members.get("output") {
        None => Err(members.missing("output")),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(parts)) => {
            let text = |(n, part): (usize, &Value)| {
                let path = format!("{path}.output[{n}]");
                if part.get("type").and_then(Value::as_str) != Some("input_text") {
                    let alternative = "Outputs of functions are text.";
                    return Err(ApiError::unsupported(&format!("{path}.type"), alternative));
                }
                Members::read(part, &path, &["type", "text"])?.required_text("text").map(str::to_owned)
            };
            parts.iter().enumerate().map(text).collect::<Result<Vec<_>, _>>().map(|texts| texts.join("\n\n"))
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
