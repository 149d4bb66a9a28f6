//! A chunk of a streamed completion, or a whole completion from a server without streaming.
//!
//! Parsed leniently, since a reply is billed even if a detail is malformed: an invalid member counts as absent.

use serde_json::{Map, Value};

use crate::error_object::ErrorObject;
use crate::json;
use crate::usage::Usage;

/// A chunk.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Chunk {
    /// The id of the completion.
    pub(super) id: Option<String>,
    /// The model that answered.
    pub(super) model: Option<String>,
    /// True for a whole completion.
    pub(super) is_whole: bool,
    /// The text.
    pub(super) content: String,
    /// The refusal.
    pub(super) refusal: String,
    /// The reasoning, and the name of its member.
    pub(super) reasoning: Option<(&'static str, String)>,
    /// The pieces of calls.
    pub(super) calls: Vec<CallPiece>,
    /// The reason why the reply ends.
    pub(super) finish_reason: Option<String>,
    /// The usage.
    pub(super) usage: Usage,
    /// The error.
    pub(super) error: Option<ErrorObject>,
}

/// A piece of a call.
#[derive(Debug, Default, PartialEq)]
pub(super) struct CallPiece {
    /// The index of the call.
    pub(super) index: Option<u64>,
    /// The id.
    pub(super) id: Option<String>,
    /// The function name.
    pub(super) name: Option<String>,
    /// The arguments.
    pub(super) arguments: String,
    /// The signature of a Google model's thoughts.
    pub(super) signature: Option<String>,
}

impl Chunk {
    /// Reads the data of an event.
    pub(super) fn read(kind: &str, data: Map<String, Value>, reasoning_members: &[&'static str]) -> Self {
        if let Some(error) = data.get("error").filter(|error| ErrorObject::is_reported(error)) {
            return Self { error: Some(ErrorObject::from_value(error)), ..Self::default() };
        }
        if kind == "error" || data.get("object").is_some_and(|object| object == "error") {
            let error = Some(ErrorObject::from_value(&Value::Object(data)));
            return Self { error, ..Self::default() };
        }
        let choices = data.get("choices").and_then(Value::as_array);
        let choice =
            choices.into_iter().flatten().find(|choice| json::index(choice.get("index")).unwrap_or(0) == 0);
        // A whole completion has a message in the place of a delta.
        let of_choice = |name: &str| choice.and_then(|choice| choice.get(name).filter(|it| it.is_object()));
        let delta = of_choice("delta");
        let message = delta.is_none().then(|| of_choice("message")).flatten();
        let member = |name: &str| delta.or(message).and_then(|delta| delta.get(name));
        let calls = match member("tool_calls") {
            Some(Value::Array(calls)) => calls.as_slice(),
            Some(call @ Value::Object(_)) => std::slice::from_ref(call),
            _ => &[],
        };
        // Each call of a whole completion is whole, so its position tells it from the others.
        let position = |at: usize| message.is_some().then(|| u64::try_from(at).unwrap_or(u64::MAX));
        let calls = calls.iter().map(CallPiece::read).enumerate();
        let calls =
            calls.map(|(at, piece)| CallPiece { index: piece.index.or_else(|| position(at)), ..piece });
        let reasoning = reasoning_members.iter().find_map(|&name| Some((name, non_empty(member(name)?)?)));
        let usage = data.get("usage").filter(|usage| usage.is_object());
        let groq = || data.get("x_groq").and_then(|groq| groq.get("usage"));
        Self {
            id: data.get("id").and_then(non_empty),
            model: data.get("model").and_then(non_empty),
            is_whole: message.is_some(),
            content: member("content").map(text).unwrap_or_default(),
            refusal: member("refusal").and_then(non_empty).unwrap_or_default(),
            reasoning,
            calls: calls.collect(),
            finish_reason: choice.and_then(|choice| non_empty(choice.get("finish_reason")?)),
            usage: usage.or_else(groq).map(Usage::from_value).unwrap_or_default(),
            error: None,
        }
    }
}

impl CallPiece {
    fn read(piece: &Value) -> Self {
        let function = |name: &str| piece.get("function")?.get(name);
        Self {
            index: piece.get("index").and_then(json::number),
            id: piece.get("id").and_then(non_empty),
            name: function("name").and_then(non_empty),
            arguments: function("arguments").map(json::string_or_json).unwrap_or_default(),
            signature: piece.pointer("/extra_content/google/thought_signature").and_then(non_empty),
        }
    }
}

/// Returns the text of a content: a string, or the text parts of a list. Parts with thoughts are skipped.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let is_text = |part: &&Value| part.get("type").is_none_or(|kind| kind == "text");
            parts.iter().filter(is_text).filter_map(|part| part.get("text")?.as_str()).collect()
        }
        _ => String::new(),
    }
}

fn non_empty(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}
