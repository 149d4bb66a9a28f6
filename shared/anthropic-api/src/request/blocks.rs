//! Reads the content of a message: a text, or a list of blocks.

use base64::{Engine, engine::general_purpose::STANDARD};
use histories::{ChatContent, ChatFile, InlineData};
use serde_json::{Value, json};

use super::Members;
use crate::error::ApiError;

/// A block of a message.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Block {
    /// A text.
    Text(String),
    /// An image.
    Image(ChatContent),
    /// A document.
    File(ChatFile),
    /// A call of a tool.
    Call {
        /// The id, which the result names.
        id: String,
        /// The name of the tool.
        name: String,
        /// The arguments.
        input: Value,
    },
    /// The result of a call.
    Result {
        /// The id of the call.
        call_id: String,
        /// The output.
        output: String,
        /// True if the call failed.
        is_error: bool,
        /// Images of the output.
        images: Vec<ChatContent>,
    },
    /// A block that the model doesn't get again, such as its thinking.
    Omitted,
}

/// Reads a member that is a text or a list of text blocks. Other blocks of a system prompt change tools, which are all
/// offered from the start.
pub(super) fn text(members: &Members<'_>, name: &str) -> Result<String, ApiError> {
    let texts = read(members, name)?.into_iter().filter_map(|block| match block {
        Block::Text(text) => Some(text),
        _ => None,
    });
    Ok(texts.collect::<Vec<_>>().join("\n\n"))
}

/// Reads a member that is a text or a list of blocks.
pub(super) fn read(members: &Members<'_>, name: &str) -> Result<Vec<Block>, ApiError> {
    match members.required(name)? {
        Value::String(text) => Ok(vec![Block::Text(text.clone())]),
        Value::Array(blocks) => {
            let blocks = blocks.iter().enumerate();
            blocks.map(|(n, block)| self::block(block, &format!("{}.{n}", members.path(name)))).collect()
        }
        _ => Err(members.rule(name, "Input should be a valid string or a list of blocks")),
    }
}

fn block(value: &Value, path: &str) -> Result<Block, ApiError> {
    let block = Members::read(value, path)?;
    match block.required_text("type")? {
        "text" => Ok(Block::Text(block.required_text("text")?.to_owned())),
        "image" => image(&block).map(Block::Image),
        "document" => document(&block),
        "search_result" => search_result(&block),
        "tool_use" | "server_tool_use" | "mcp_tool_use" => Ok(Block::Call {
            id: block.required_text("id")?.to_owned(),
            name: block.required_text("name")?.to_owned(),
            input: block.get("input").cloned().unwrap_or_else(|| json!({})),
        }),
        "tool_result" => tool_result(&block),
        "tool_reference" => {
            Ok(Block::Text(format!("The tool {} is available.", block.required_text("tool_name")?)))
        }
        // The results of tools that another service ran, which are in messages of the model.
        kind if kind.ends_with("_tool_result") => Ok(Block::Result {
            call_id: block.required_text("tool_use_id")?.to_owned(),
            output: block.get("content").map(Value::to_string).unwrap_or_default(),
            is_error: block.flag("is_error")?.unwrap_or_default(),
            images: Vec::new(),
        }),
        "thinking" | "redacted_thinking" | "fallback" | "tool_addition" | "tool_removal" => {
            Ok(Block::Omitted)
        }
        kind => Err(block.rule("type", &format!("blocks of type '{kind}' are not supported"))),
    }
}

/// Reads the result of a tool. A text stays as it is, other blocks are joined to one.
fn tool_result(block: &Members<'_>) -> Result<Block, ApiError> {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    let parts = if block.get("content").is_some() { read(block, "content")? } else { Vec::new() };
    for part in parts {
        match part {
            Block::Text(text) => texts.push(text),
            Block::Image(image) => images.push(image),
            Block::Omitted => {}
            Block::File(_) | Block::Call { .. } | Block::Result { .. } => {
                return Err(block.rule("content", "results can hold text, images and search results"));
            }
        }
    }
    if texts.is_empty() && !images.is_empty() {
        texts.push("The image follows.".to_owned());
    }
    let is_error = block.flag("is_error")?.unwrap_or_default();
    let mut output = texts.join("\n\n");
    if is_error && output.trim().is_empty() {
        output = "The tool failed without a message.".to_owned();
    }
    Ok(Block::Result { call_id: block.required_text("tool_use_id")?.to_owned(), output, is_error, images })
}

/// Reads an image: its bytes, or the id of an uploaded file.
fn image(block: &Members<'_>) -> Result<ChatContent, ApiError> {
    let source = source(block)?;
    match source.required_text("type")? {
        "base64" => inline(&source, source.required_text("media_type")?).map(ChatContent::Inline),
        "file" => Ok(ChatContent::Uploaded(source.required_text("file_id")?.to_owned())),
        _ => Err(source.rule("type", "Input should be 'base64' or 'file'; send the image itself")),
    }
}

/// Reads a document: a PDF or a text as a file, or blocks as text.
fn document(block: &Members<'_>) -> Result<Block, ApiError> {
    let source = source(block)?;
    let title = block.text("title")?;
    let named = |extension: &str| match title {
        Some(title) if title.contains('.') => title.to_owned(),
        Some(title) if !title.trim().is_empty() => format!("{title}.{extension}"),
        _ => format!("document.{extension}"),
    };
    match source.required_text("type")? {
        "base64" => {
            let content = ChatContent::Inline(inline(&source, "application/pdf")?);
            Ok(Block::File(ChatFile { name: named("pdf"), content }))
        }
        "text" => {
            let base64 = STANDARD.encode(source.required_text("data")?);
            let content = ChatContent::Inline(InlineData { mime_type: "text/plain".to_owned(), base64 });
            Ok(Block::File(ChatFile { name: named("txt"), content }))
        }
        "file" => {
            let id = source.required_text("file_id")?.to_owned();
            Ok(Block::File(ChatFile { name: named("pdf"), content: ChatContent::Uploaded(id) }))
        }
        "content" => Ok(Block::Text(text(&source, "content")?)),
        _ => Err(source.rule("type", "Input should be 'base64', 'text', 'content' or 'file'")),
    }
}

/// Reads a search result as text.
fn search_result(block: &Members<'_>) -> Result<Block, ApiError> {
    let (title, source) = (block.required_text("title")?, block.required_text("source")?);
    Ok(Block::Text(format!("{title} ({source})\n\n{}", text(block, "content")?)))
}

fn source<'a>(block: &Members<'a>) -> Result<Members<'a>, ApiError> {
    block.object("source")?.ok_or_else(|| block.rule("source", "Field required"))
}

fn inline(source: &Members<'_>, mime_type: &str) -> Result<InlineData, ApiError> {
    let base64 = source.required_text("data")?.to_owned();
    Ok(InlineData { mime_type: mime_type.to_owned(), base64 })
}
