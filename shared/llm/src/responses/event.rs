//! The events of a streamed response, and the final response.
//!
//! Parsed leniently, since a response is billed even if a detail is malformed: an invalid member counts as absent.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::item::Item;
use crate::error_object::ErrorObject;
use crate::json;
use crate::usage::Usage;

/// The most bytes in which the type of an event is searched that can't be read.
const KIND_BYTES: usize = 1_024;

/// An event, distinguished by the `type` of its data.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type")]
pub enum Event {
    /// The response begins.
    #[serde(rename = "response.created")]
    Created {
        /// The start of the response.
        #[serde(default, deserialize_with = "lenient")]
        response: CreatedResponse,
    },
    /// An item begins.
    #[serde(rename = "response.output_item.added")]
    ItemAdded {
        /// The index of the item.
        #[serde(default, deserialize_with = "index")]
        output_index: Option<u32>,
        /// The item, without its content.
        #[serde(default)]
        item: Item,
    },
    /// A part of a message begins.
    #[serde(rename = "response.content_part.added")]
    PartAdded(Delta),
    /// A piece of text, or of a refusal.
    #[serde(rename = "response.output_text.delta", alias = "response.refusal.delta")]
    TextDelta(Delta),
    /// The whole text of a part.
    #[serde(rename = "response.output_text.done", alias = "response.refusal.done")]
    TextDone(Delta),
    /// A piece of the arguments of a call.
    #[serde(rename = "response.function_call_arguments.delta")]
    ArgumentsDelta(Delta),
    /// The whole arguments of a call.
    #[serde(rename = "response.function_call_arguments.done")]
    ArgumentsDone(Delta),
    /// A piece of reasoning, or of its summary.
    #[serde(rename = "response.reasoning_summary_text.delta", alias = "response.reasoning_text.delta")]
    ReasoningDelta(Delta),
    /// A whole part of reasoning, or of its summary.
    #[serde(rename = "response.reasoning_summary_text.done", alias = "response.reasoning_text.done")]
    ReasoningDone(Delta),
    /// Any other piece of output.
    #[serde(
        rename = "response.custom_tool_call_input.delta",
        alias = "response.mcp_call_arguments.delta",
        alias = "response.code_interpreter_call_code.delta"
    )]
    OutputDelta(Delta),
    /// An item is complete.
    #[serde(rename = "response.output_item.done")]
    ItemDone {
        /// The index of the item.
        #[serde(default, deserialize_with = "index")]
        output_index: Option<u32>,
        /// The item.
        #[serde(default)]
        item: Item,
    },
    /// The response is complete.
    #[serde(rename = "response.completed")]
    Completed {
        /// The complete response.
        #[serde(default, deserialize_with = "lenient")]
        response: Response,
    },
    /// The response failed.
    #[serde(rename = "response.failed")]
    Failed {
        /// The partial response, with the error.
        #[serde(default, deserialize_with = "lenient")]
        response: Response,
    },
    /// The response stopped early.
    #[serde(rename = "response.incomplete")]
    Incomplete {
        /// The partial response, with the reason.
        #[serde(default, deserialize_with = "lenient")]
        response: Response,
    },
    /// The stream failed. The published shape is flat; some servers nest it.
    #[serde(rename = "error")]
    Error(ErrorObject),
    /// Any other type, including future ones.
    #[serde(other)]
    Other,
}

impl Event {
    /// Parses the data of an event. If it has no `type`, the stream's `event` field decides, or else the shape of the
    /// data: either an error, or a complete response from a server without streaming. `None` if it can't be read.
    pub fn read(kind: &str, data: &str) -> Option<Self> {
        if let Ok(TextDelta {
            kind: "response.output_text.delta",
            item_id,
            output_index,
            content_index,
            delta,
        }) = serde_json::from_str(data)
        {
            return Some(Self::TextDelta(Delta {
                item_id: item_id.map(str::to_owned),
                output_index: Some(output_index),
                content_index: Some(content_index),
                delta,
                ..Delta::default()
            }));
        }
        let mut data = json::parse_object(data)?;
        if !data.get("type").is_some_and(Value::is_string) {
            let kind = match kind {
                "" | "message" => infer_kind(&data),
                kind => kind,
            };
            if data.get("object").is_some_and(|object| object == "response") {
                data = [("response".to_owned(), Value::Object(data))].into_iter().collect();
            }
            data.insert("type".to_owned(), kind.into());
        }
        let mut data = Value::Object(data);
        // The next delta may have the other half of a character.
        let is_delta = data.get("type").and_then(Value::as_str).is_some_and(|kind| kind.ends_with(".delta"));
        if !is_delta {
            json::make_whole(&mut data);
        }
        serde_json::from_value(data).ok()
    }
}

/// Returns the type of an event that can't be read: the stream's `event` field, or else the start of the data.
pub fn unreadable_kind<'a>(kind: &'a str, data: &'a str) -> &'a str {
    if !matches!(kind, "" | "message") {
        return kind;
    }
    let start = data.get(..data.floor_char_boundary(KIND_BYTES)).unwrap_or_default();
    let value = start.split_once("\"type\"").and_then(|(_, rest)| rest.trim_start().strip_prefix(':'));
    let quoted = value.and_then(|value| value.trim_start().strip_prefix('"')?.split_once('"'));
    quoted.map_or("", |(kind, _)| kind)
}

fn infer_kind(data: &serde_json::Map<String, Value>) -> &'static str {
    let named = |name: &str| data.get(name).and_then(Value::as_str);
    match (named("object"), named("status")) {
        (Some("response"), Some("failed" | "cancelled")) => "response.failed",
        (Some("response"), Some("incomplete")) => "response.incomplete",
        (Some("response"), Some("in_progress" | "queued")) => "",
        (Some("response"), _) => "response.completed",
        (Some("error"), _) => "error",
        _ if data.get("error").is_some_and(ErrorObject::is_reported) => "error",
        _ => "",
    }
}

/// A text delta in the published shape, which nearly all events have. Parsed without an intermediate tree; everything
/// else takes the lenient path.
#[derive(Deserialize)]
struct TextDelta<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(default)]
    item_id: Option<&'a str>,
    output_index: u32,
    content_index: u32,
    delta: String,
}

/// A piece of an item, or the whole of what came in pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Delta {
    /// The id of the item.
    #[serde(default, deserialize_with = "lenient")]
    pub item_id: Option<String>,
    /// The index of the item.
    #[serde(default, deserialize_with = "index")]
    pub output_index: Option<u32>,
    /// The index of the part within the item.
    #[serde(default, deserialize_with = "index")]
    pub content_index: Option<u32>,
    /// The index of the part within the summary of reasoning.
    #[serde(default, deserialize_with = "index")]
    pub summary_index: Option<u32>,
    /// The piece.
    #[serde(default, deserialize_with = "string_or_json")]
    pub delta: String,
    /// The whole text.
    #[serde(default, deserialize_with = "lenient")]
    pub text: String,
    /// The whole refusal.
    #[serde(default, deserialize_with = "lenient")]
    pub refusal: String,
    /// The name of the function.
    #[serde(default, deserialize_with = "lenient")]
    pub name: String,
    /// The whole arguments.
    #[serde(default, deserialize_with = "string_or_json")]
    pub arguments: String,
}

impl Delta {
    /// Returns the place of a piece of reasoning: the item, and the part.
    pub fn reasoning_place(&self) -> (u32, u32) {
        let part = self.summary_index.or(self.content_index).unwrap_or_default();
        (self.output_index.unwrap_or_default(), part)
    }
}

/// The response in its first event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct CreatedResponse {
    /// The id.
    #[serde(default, deserialize_with = "lenient")]
    pub id: Option<String>,
    /// The model that answers.
    #[serde(default, deserialize_with = "lenient")]
    pub model: Option<String>,
    /// False if the response isn't stored after all.
    #[serde(default, deserialize_with = "lenient")]
    pub store: Option<bool>,
    /// The response that it continues from. Null if it continues from none.
    #[serde(default, deserialize_with = "nullable")]
    pub previous_response_id: Option<Option<String>>,
}

/// The response in its terminal event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Response {
    /// The id, to continue from.
    #[serde(default, deserialize_with = "lenient")]
    pub id: Option<String>,
    /// The model that answered.
    #[serde(default, deserialize_with = "lenient")]
    pub model: Option<String>,
    /// The status, which the event's type repeats.
    #[serde(default, deserialize_with = "lenient")]
    pub status: Option<String>,
    /// True if the response is stored, so that a request can continue from it.
    #[serde(default, deserialize_with = "lenient")]
    pub store: Option<bool>,
    /// The response that it continued from. Null if it continued from none.
    #[serde(default, deserialize_with = "nullable")]
    pub previous_response_id: Option<Option<String>>,
    /// The output items.
    #[serde(default, deserialize_with = "lenient")]
    pub output: Vec<Item>,
    /// The token usage.
    #[serde(default)]
    pub usage: Usage,
    /// The error, if the response failed.
    #[serde(default)]
    pub error: Option<ErrorObject>,
    /// The reason, if the response is incomplete.
    #[serde(default, deserialize_with = "lenient")]
    pub incomplete_details: Option<IncompleteDetails>,
}

/// The reason of an incomplete response.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct IncompleteDetails {
    /// `max_output_tokens`, `content_filter`, …
    #[serde(default, deserialize_with = "lenient")]
    pub reason: Option<String>,
}

/// Deserializes a member, or returns the default if it is invalid.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).unwrap_or_default())
}

/// Deserializes an index, or `None` if it is none.
fn index<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    Ok(json::index(Some(&Value::deserialize(deserializer)?)))
}

/// Deserializes a string, or any other value as JSON text.
fn string_or_json<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(json::string_or_json(&Value::deserialize(deserializer)?))
}

/// Deserializes a nullable member: `Some(None)` for null, and `None` if it is absent or invalid.
fn nullable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Null => Some(None),
        Value::String(id) => Some(Some(id)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta(output_index: Option<u32>, content_index: Option<u32>, delta: &str) -> Event {
        let item_id = content_index.map(|_| "m".to_owned());
        Event::TextDelta(Delta {
            item_id,
            output_index,
            content_index,
            delta: delta.to_owned(),
            ..Delta::default()
        })
    }

    #[test]
    fn fast_and_lenient_paths_read_the_same_delta() {
        let event = r#"{"type":"response.output_text.delta","sequence_number":4,"item_id":"m","output_index":1,"content_index":2,"delta":"a\"\u00e9","logprobs":[{"a":1}]}"#;
        let read = |data: &str| Event::read("", data).unwrap();
        let expected = delta(Some(1), Some(2), "a\"é");
        assert_eq!(read(event), expected);
        // An escaped type, a duplicate member, invalid numbers, unused values that are no JSON, missing members.
        assert_eq!(read(&event.replace("output_text", "output\\u005ftext")), expected);
        assert_eq!(
            read(&event.replace("\"logprobs\"", "\"delta\":\"b\",\"logprobs\"")),
            delta(Some(1), Some(2), "b")
        );
        assert_eq!(read(&event.replace(":1,", ":\"1\",")), expected);
        assert_eq!(read(&event.replace(":1,", ":null,")), delta(None, Some(2), "a\"é"));
        assert_eq!(read(&event.replace("[{\"a\":1}]", "NaN")), expected);
        assert_eq!(read(r#"{"type":"response.output_text.delta"}"#), delta(None, None, ""));
        assert_eq!(read(&event.replace("output_text.delta", "output_text.new")), Event::Other);
        let named = Event::read("response.output_text.delta", r#"{"delta":"a"}"#).unwrap();
        assert_eq!(named, delta(None, None, "a"));
        assert!(Event::read("", &format!("{event}}}")).is_none() && Event::read("", "[]").is_none());
    }

    #[test]
    fn kind_of_an_unreadable_event_is_in_its_field_or_at_its_start() {
        for (kind, data, expected) in [
            ("response.completed", "{", "response.completed"),
            ("message", r#"{"type" : "response.completed", "response": {"#, "response.completed"),
            ("", r#"{"a":"ü"#, ""),
            ("", "", ""),
        ] {
            assert_eq!(unreadable_kind(kind, data), expected, "{data}");
        }
    }
}
