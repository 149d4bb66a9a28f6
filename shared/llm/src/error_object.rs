//! Error objects, in the layouts of all providers.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::json;

/// An error object. Its `message` is only used for classification and goes nowhere else (I14).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorObject {
    /// The error code.
    pub code: Option<String>,
    /// The error type, which is broader than the code.
    pub kind: Option<String>,
    /// The invalid parameter.
    pub param: Option<String>,
    /// The provider's message.
    pub message: Option<String>,
    /// Set if the error has the reasons of a moderation.
    pub moderated: bool,
}

impl ErrorObject {
    /// Parses an error body: `{"error": {…}}`, `{"error": "…"}`, the members themselves, or a list of one of these, also
    /// as an event. Returns an empty error if the body is invalid, so that the status still counts.
    pub fn from_body(body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let in_event = || text.lines().find_map(|line| json::parse(line.strip_prefix("data:")?));
        json::parse(&text).or_else(in_event).map(|body| Self::from_value(&body)).unwrap_or_default()
    }

    /// True if a member `error` reports one. Some servers send an empty one with each event.
    pub(crate) fn is_reported(error: &Value) -> bool {
        match error {
            Value::Null | Value::Bool(false) => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(list) => !list.is_empty(),
            Value::Object(members) => !members.is_empty(),
            _ => true,
        }
    }

    /// Reads an error from parsed JSON.
    pub fn from_value(value: &Value) -> Self {
        match value {
            Value::Array(list) => list.first().map(Self::from_value).unwrap_or_default(),
            Value::String(message) => Self { message: Some(message.clone()), ..Self::default() },
            Value::Object(members) => Self::from_members(members),
            _ => Self::default(),
        }
    }

    fn from_members(members: &Map<String, Value>) -> Self {
        let flat = Self {
            code: text(members, &["code"]),
            kind: text(members, &["type", "status"]),
            param: text(members, &["param"]),
            message: text(members, &["message", "detail"]),
            moderated: false,
        };
        let inner = match members.get("error") {
            Some(inner @ (Value::Object(_) | Value::String(_))) => Self::from_value(inner),
            _ => Self::default(),
        };
        let metadata = members.get("metadata").and_then(Value::as_object);
        // The error of the provider behind a gateway.
        let upstream = metadata.and_then(|metadata| text(metadata, &["raw"]));
        let message = inner.message.or(flat.message);
        Self {
            code: inner.code.or(flat.code),
            kind: inner.kind.or(flat.kind),
            param: inner.param.or(flat.param),
            message: match (message, upstream) {
                (Some(message), Some(upstream)) => Some(format!("{message}\n{upstream}")),
                (message, upstream) => message.or(upstream),
            },
            moderated: inner.moderated || metadata.is_some_and(|metadata| metadata.contains_key("reasons")),
        }
    }
}

impl<'de> Deserialize<'de> for ErrorObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_value(&Value::deserialize(deserializer)?))
    }
}

/// Returns the first of these members that is a string or a number.
fn text(members: &Map<String, Value>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| match members.get(*name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}
