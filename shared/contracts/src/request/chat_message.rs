//! Messages of a chat, role by role. A protocol in which clients send their whole history translates into them.
//!
//! The Aptix API has no such member: its clients name sessions. A turn that begins with messages of another session or
//! service stores them with its request.

use serde::{Deserialize, Serialize};

use super::json::Json;
use crate::error::{Error, ErrorCode};

/// The member of a stored request that holds the messages, as a JSON text.
const MEMBER: &str = "Ancestry";

/// A message of a chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub enum ChatMessage {
    /// A text of the system or the developer, after the first other message. Earlier ones are instructions.
    System(String),
    /// A message of the user.
    User(UserMessage),
    /// A text of the model.
    Assistant(String),
    /// A call of a function by the model.
    Call(ChatCall),
    /// The result of a call.
    Result(ChatResult),
}

/// A message of the user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct UserMessage {
    /// The text.
    pub text: String,
    /// The images.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ChatContent>,
    /// The files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ChatFile>,
}

/// A file of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ChatFile {
    /// The name.
    pub name: String,
    /// The content.
    pub content: ChatContent,
}

/// The content of an image or a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub enum ChatContent {
    /// In the request.
    Inline(InlineData),
    /// In a file that was uploaded before. Holds its id.
    Uploaded(String),
}

/// Data with its type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct InlineData {
    /// The media type.
    pub mime_type: String,
    /// The data in base64.
    pub base64: String,
}

/// A call of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ChatCall {
    /// The client's id of the call, which its result names.
    pub id: String,
    /// The name of the function.
    pub name: String,
    /// The arguments as the model wrote them.
    pub arguments: String,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ChatResult {
    /// The id of the call. Empty in protocols that name the function alone: the result is then the next call's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub call_id: String,
    /// The output: a JSON text or any other text.
    pub output: String,
    /// True if the client reports that the call failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

/// Writes messages as the text of their member.
pub(super) fn to_text(messages: &[ChatMessage]) -> String {
    // The types hold only strings and lists, so they always serialize.
    serde_json::to_string(messages).unwrap_or_default()
}

/// Takes the messages out of a stored request.
pub(super) fn take(json: &mut Json<'_>) -> Result<Vec<ChatMessage>, Vec<Error>> {
    let Some(text) = take_text(json, MEMBER)? else { return Ok(Vec::new()) };
    serde_json::from_str(&text).map_err(|_| vec![Error::from(ErrorCode::MemberInvalid).with_details(MEMBER)])
}

/// Takes a text out of a stored request that no client can send.
pub(super) fn take_text(json: &mut Json<'_>, name: &str) -> Result<Option<String>, Vec<Error>> {
    let Json::Object(members) = json else { return Ok(None) };
    let Some(at) = members.iter().position(|(member, _)| member == name) else { return Ok(None) };
    match members.remove(at).1 {
        Json::Text(text) => Ok(Some(text.into_owned())),
        _ => Err(vec![Error::from(ErrorCode::MemberInvalid).with_details(name)]),
    }
}
