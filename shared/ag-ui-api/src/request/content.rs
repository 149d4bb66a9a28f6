//! Reads the content of a message: a text, or a list of parts.

use base64::{Engine, engine::general_purpose::STANDARD};
use histories::{ChatContent, ChatFile, InlineData, UserMessage};
use serde_json::Value;

use super::Members;
use crate::error::ApiError;

/// Reads the content of a message of the user or of a tool.
pub(super) fn read(message: &Members<'_>) -> Result<UserMessage, ApiError> {
    let parts = match message.required("content")? {
        Value::String(text) => return Ok(UserMessage { text: text.clone(), ..UserMessage::default() }),
        Value::Array(parts) => parts,
        _ => return Err(message.rule("content", "Input should be a string or a list of parts")),
    };
    let (mut texts, mut content) = (Vec::new(), UserMessage::default());
    for (n, part) in parts.iter().enumerate() {
        let part = Members::read(part, &format!("{}.{n}", message.path("content")))?;
        match part.required_text("type")? {
            "text" => texts.push(part.required_text("text")?),
            "image" => content.images.push(source(&part)?),
            "document" => {
                let name = format!("document-{}.{}", n.saturating_add(1), extension(&part)?);
                content.files.push(ChatFile { name, content: source(&part)? });
            }
            // The one part with bytes before 0.0.47.
            "binary" => binary(&part, n, &mut content)?,
            kind @ ("audio" | "video") => {
                let rule =
                    format!("parts of type '{kind}' are not supported. Send text, images or documents");
                return Err(part.rule("type", &rule));
            }
            _ => return Err(part.rule("type", "Input should be 'text', 'image' or 'document'")),
        }
    }
    content.text = texts.join("\n\n");
    Ok(content)
}

/// Reads the source of a part: its bytes, or the id of an uploaded file.
fn source(part: &Members<'_>) -> Result<ChatContent, ApiError> {
    let source = part.object("source")?.ok_or_else(|| part.rule("source", "Field required"))?;
    let value = source.required_text("value")?;
    match source.required_text("type")? {
        "data" => inline(&source, "value", value, source.required_text("mimeType")?),
        "file" => Ok(ChatContent::Uploaded(value.to_owned())),
        "url" => match data_url(value) {
            Some((mime_type, base64)) => inline(&source, "value", base64, mime_type),
            None => Err(source.rule("type", "the service fetches no URLs. Send the bytes: type 'data'")),
        },
        _ => Err(source.rule("type", "Input should be 'data' or 'file'")),
    }
}

fn binary(part: &Members<'_>, position: usize, content: &mut UserMessage) -> Result<(), ApiError> {
    let mime_type = part.required_text("mimeType")?;
    let bytes = match (part.text("data")?, part.text("id")?) {
        (Some(data), _) => inline(part, "data", data, mime_type)?,
        (None, Some(id)) => ChatContent::Uploaded(id.to_owned()),
        (None, None) => return Err(part.rule("data", "Field required: the service fetches no URLs")),
    };
    if mime_type.starts_with("image/") {
        content.images.push(bytes);
    } else {
        let name = part.text("filename")?.filter(|name| !name.trim().is_empty()).map(str::to_owned);
        let name =
            name.unwrap_or_else(|| format!("document-{}.{}", position.saturating_add(1), subtype(mime_type)));
        content.files.push(ChatFile { name, content: bytes });
    }
    Ok(())
}

fn inline(part: &Members<'_>, name: &str, base64: &str, mime_type: &str) -> Result<ChatContent, ApiError> {
    if STANDARD.decode(base64).is_err() {
        return Err(part.rule(name, "must be base64"));
    }
    Ok(ChatContent::Inline(InlineData { mime_type: mime_type.to_owned(), base64: base64.to_owned() }))
}

/// Splits a `data:` URL into its media type and its base64.
fn data_url(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:")?.split_once(";base64,")
}

/// Returns the extension of a document's file name.
fn extension(part: &Members<'_>) -> Result<String, ApiError> {
    let mime_type = match part.object("source")? {
        Some(source) => source.text("mimeType")?,
        None => None,
    };
    Ok(mime_type.map_or_else(|| "pdf".to_owned(), subtype))
}

fn subtype(mime_type: &str) -> String {
    match mime_type {
        "text/plain" => "txt".to_owned(),
        "text/markdown" => "md".to_owned(),
        other => {
            let subtype = other.rsplit('/').next().unwrap_or_default();
            subtype.chars().filter(char::is_ascii_alphanumeric).take(16).collect()
        }
    }
}
