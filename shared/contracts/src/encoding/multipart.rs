//! The form encoding: a form whose fields are named like the members of a request.
//!
//! - A part without a file name is a field. Text members hold the text as is, other members hold JSON
//!   (`RagScope`: an object, `Streaming`: `true`). An empty field counts as absent, because forms send every input.
//! - A file part named `ClipboardImages` is a pasted image. Any other file part is an artifact of origin `user`
//!   whose path is the part's file name. A file part without name and content is a file input without a selection,
//!   and counts as absent.

use std::borrow::Cow;

use crate::{
    error::{Error, ErrorCode},
    request::{
        UserTurn, base64,
        body::{check_body_size, validate},
        envelope,
        field_table::is_spelling_of,
        json::Json,
    },
};

/// A decoded part of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// The name of the field.
    pub name: &'a str,
    /// The name of the file, if the part is a file.
    pub file_name: Option<&'a str>,
    /// The media type of the part.
    pub content_type: Option<&'a str>,
    /// The content of the part.
    pub bytes: &'a [u8],
}

/// The members whose fields hold JSON.
const JSON_MEMBERS: &[&str] = &["InputArtifacts", "ClipboardImages", "RagScope", "Streaming", "ToolResults"];

/// Reads a user turn from the parts of a form.
///
/// # Errors
/// Every violation, as for JSON.
pub fn user_turn<'a>(parts: impl IntoIterator<Item = Part<'a>>) -> Result<UserTurn, Vec<Error>> {
    let mut size = 0_usize;
    let mut members = Vec::new();
    let mut artifacts = Vec::new();
    let mut images = Vec::new();
    for part in parts {
        size = size.saturating_add(part.bytes.len());
        check_body_size(size)?;
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
    validate(&Json::Object(members), envelope::user_turn)
}

fn field<'a>(part: &Part<'a>) -> Result<Json<'a>, Vec<Error>> {
    let text = std::str::from_utf8(part.bytes).map_err(|_| {
        let message = format!("The form's field {:?} is not UTF-8", part.name);
        vec![Error::new(ErrorCode::MemberInvalid, message).with_details(part.name)]
    })?;
    let text = Json::Text(Cow::Borrowed(text));
    if JSON_MEMBERS.iter().any(|member| is_spelling_of(member, part.name)) {
        // Invalid JSON stays text, and the member's own rule rejects it.
        return Ok(Json::parse(part.bytes).unwrap_or(text));
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
