//! Deviations of a response from the published schema, on request of a script.

use serde_json::{Value, json};

/// A deviation from the published response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deviation {
    /// Token counts are a float and a string, and the total is missing.
    OddUsage,
    /// The response has no id.
    NoId,
    /// Messages have no content.
    NullContent,
    /// Arguments are a JSON object and not a string.
    ObjectArguments,
    /// Calls have an empty id.
    NoCallId,
    /// All calls have the same id.
    SameCallId,
    /// Ids of calls contain a long signature, as those of Gemini through LiteLLM. Chat Completions only.
    SignedCallId,
    /// Events don't say their type.
    NoType,
    /// The last event lacks its blank line.
    NoBlankLine,
    /// The response is plain JSON, even if a stream was requested.
    Json,
    /// The response has no output.
    Nothing,
    /// The final text differs from the streamed one.
    Finally(String),
    /// The response names this model.
    As(String),
}

impl Deviation {
    /// Parses the name of a deviation without arguments.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "odd-usage" => Self::OddUsage,
            "no-id" => Self::NoId,
            "null-content" => Self::NullContent,
            "object-arguments" => Self::ObjectArguments,
            "no-call-id" => Self::NoCallId,
            "same-call-id" => Self::SameCallId,
            "signed-call-id" => Self::SignedCallId,
            "no-type" => Self::NoType,
            "no-blank-line" => Self::NoBlankLine,
            "json" => Self::Json,
            "nothing" => Self::Nothing,
            _ => return None,
        })
    }

    /// Applies the deviation to a complete response.
    pub fn apply(&self, response: &mut Value) {
        match self {
            Self::OddUsage => set(response, "usage", json!({ "input_tokens": 100.0, "output_tokens": "20" })),
            Self::NoId => set(response, "id", Value::Null),
            Self::As(name) => set(response, "model", json!(name)),
            Self::NullContent => items(response, "message", |item, _| set(item, "content", Value::Null)),
            Self::Finally(text) => items(response, "message", |item, _| {
                set(item, "content", json!([{ "type": "output_text", "text": text, "annotations": [] }]));
            }),
            Self::ObjectArguments => items(response, "function_call", |item, _| {
                let arguments = item.get("arguments").and_then(Value::as_str).unwrap_or("{}");
                let arguments = serde_json::from_str(arguments).unwrap_or_default();
                set(item, "arguments", arguments);
            }),
            Self::NoCallId => items(response, "function_call", |item, index| {
                set(item, "call_id", json!(""));
                // Every second call has no item id either.
                if index % 2 == 1 {
                    set(item, "id", Value::Null);
                }
            }),
            Self::SameCallId => items(response, "function_call", |item, _| {
                set(item, "call_id", json!("call_same"));
                set(item, "id", Value::Null);
            }),
            Self::SignedCallId | Self::NoType | Self::NoBlankLine | Self::Json | Self::Nothing => {}
        }
    }
}

fn set(value: &mut Value, name: &str, member: Value) {
    if let Some(members) = value.as_object_mut() {
        members.insert(name.to_owned(), member);
    }
}

fn items(response: &mut Value, kind: &str, change: impl Fn(&mut Value, usize)) {
    let output = response.get_mut("output").and_then(Value::as_array_mut).into_iter().flatten();
    let of_kind = output.filter(|item| item.get("type").is_some_and(|it| it == kind));
    of_kind.enumerate().for_each(|(index, item)| change(item, index));
}
