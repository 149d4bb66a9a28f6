//! What an error says of itself, however its provider lays it out.

use contracts::json_bytes;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// What an error is about. Its `message` is read to classify it and goes nowhere else (I14).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorObject {
    /// The most telling member, when it is there.
    pub code: Option<String>,
    /// A broader class.
    pub kind: Option<String>,
    /// The parameter at fault.
    pub param: Option<String>,
    /// The provider's own words.
    pub message: Option<String>,
    /// Whether it tells why a moderator refused the input.
    pub moderated: bool,
}

impl ErrorObject {
    /// Reads the body of an error: `{"error": {…}}`, `{"error": "…"}`, the members themselves, or a list of one of
    /// these. What can't be read says nothing: it would hide the error that it describes.
    pub fn of_body(body: &[u8]) -> Self {
        json_bytes::read(body).map(|body| Self::of(&body)).unwrap_or_default()
    }

    /// The same of what was parsed already.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Array(list) => list.first().map(Self::of).unwrap_or_default(),
            Value::String(message) => Self { message: Some(message.clone()), ..Self::default() },
            Value::Object(members) => Self::of_members(members),
            _ => Self::default(),
        }
    }

    fn of_members(members: &Map<String, Value>) -> Self {
        let flat = Self {
            code: text(members, &["code"]),
            kind: text(members, &["type", "status"]),
            param: text(members, &["param"]),
            message: text(members, &["message", "detail"]),
            moderated: false,
        };
        let inner = match members.get("error") {
            Some(inner @ (Value::Object(_) | Value::String(_))) => Self::of(inner),
            _ => Self::default(),
        };
        let metadata = members.get("metadata").and_then(Value::as_object);
        // What the provider behind a gateway said.
        let behind = metadata.and_then(|metadata| text(metadata, &["raw"]));
        let message = inner.message.or(flat.message);
        Self {
            code: inner.code.or(flat.code),
            kind: inner.kind.or(flat.kind),
            param: inner.param.or(flat.param),
            message: match (message, behind) {
                (Some(message), Some(behind)) => Some(format!("{message}\n{behind}")),
                (message, behind) => message.or(behind),
            },
            moderated: inner.moderated || metadata.is_some_and(|metadata| metadata.contains_key("reasons")),
        }
    }
}

impl<'de> Deserialize<'de> for ErrorObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::of(&Value::deserialize(deserializer)?))
    }
}

/// The first of these members that is a text or a number.
fn text(members: &Map<String, Value>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| match members.get(*name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}
