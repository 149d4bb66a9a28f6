//! The browser's shape: a form whose fields have the contract's names (DD-001).
//!
//! - A part without a file name is a field. Fields of text hold it as it stands, the others hold JSON
//!   (`RagScope`: an object; `Streaming`: `true`). An empty field counts as absent, since forms send
//!   every input there is.
//! - A file part called `ClipboardImages` is a pasted image; any other file part is an artifact of
//!   origin `user`, whose path is the part's file name. A file part without name and content is a
//!   file input where nothing was chosen, and counts as absent.

use std::borrow::Cow;

use crate::{
    error::{Error, ErrorCode},
    request::{UserTurn, base64, body_size, checked, envelope, json::Json, table::is_spelling_of},
};

/// One part of a form, decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// The field's name.
    pub name: &'a str,
    /// The file's name, when the part is a file.
    pub file_name: Option<&'a str>,
    /// The part's media type.
    pub content_type: Option<&'a str>,
    /// The part's content.
    pub bytes: &'a [u8],
}

/// The members that a field spells as JSON.
const JSON_MEMBERS: &[&str] = &["InputArtifacts", "ClipboardImages", "RagScope", "Streaming", "ToolResults"];

/// Reads a user turn from the parts of a form.
///
/// # Errors
/// Every violation, as for the JSON shape.
pub fn user_turn<'a>(parts: impl IntoIterator<Item = Part<'a>>) -> Result<UserTurn, Vec<Error>> {
    let mut size = 0_usize;
    let mut members = Vec::new();
    let mut artifacts = Vec::new();
    let mut images = Vec::new();
    for part in parts {
        size = size.saturating_add(part.bytes.len());
        body_size(size)?;
        match part.file_name {
            Some("") | None if part.bytes.is_empty() => {}
            Some(_) if is_spelling_of("ClipboardImages", part.name) => {
                images.push(image(&part, images.len() + 1))
            }
            Some(file_name) => artifacts.push(artifact(&part, file_name)),
            None => members.push((Cow::Borrowed(part.name), field(&part)?)),
        }
    }
    for (name, files) in [("InputArtifacts", artifacts), ("ClipboardImages", images)] {
        if !files.is_empty() {
            members.push((Cow::Borrowed(name), Json::List(files)));
        }
    }
    checked(&Json::Object(members), envelope::user_turn)
}

fn field<'a>(part: &Part<'a>) -> Result<Json<'a>, Vec<Error>> {
    let text = std::str::from_utf8(part.bytes).map_err(|_| {
        let message = format!("The form's field {:?} is not UTF-8", part.name);
        vec![Error::new(ErrorCode::MemberInvalid, message).with_details(part.name)]
    })?;
    let text = Json::Text(Cow::Borrowed(text));
    if JSON_MEMBERS.iter().any(|member| is_spelling_of(member, part.name)) {
        // What is not JSON stays text, and the member's own rule refuses it.
        return Ok(Json::read(part.bytes).unwrap_or(text));
    }
    Ok(text)
}

fn artifact<'a>(part: &Part<'a>, path: &'a str) -> Json<'a> {
    let file_name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let (contents, encoding) = match std::str::from_utf8(part.bytes) {
        Ok(text) => (Cow::Borrowed(text), "utf8"),
        Err(_) => (Cow::Owned(base64::encode(part.bytes)), "base64"),
    };
    object([
        ("RelativePath", text(path)),
        ("FileName", text(file_name)),
        ("Contents", Json::Text(contents)),
        ("Encoding", text(encoding)),
        ("Origin", text("user")),
        ("MimeType", part.content_type.map_or(Json::Null, text)),
    ])
}

fn image<'a>(part: &Part<'a>, number: usize) -> Json<'a> {
    object([
        ("Id", Json::Text(format!("clipboard-{number}").into())),
        ("MimeType", part.content_type.map_or(Json::Null, text)),
        ("DataBase64", Json::Text(base64::encode(part.bytes).into())),
    ])
}

fn text(text: &str) -> Json<'_> {
    Json::Text(Cow::Borrowed(text))
}

fn object<'a, const N: usize>(members: [(&'static str, Json<'a>); N]) -> Json<'a> {
    Json::Object(members.into_iter().map(|(name, value)| (Cow::Borrowed(name), value)).collect())
}
