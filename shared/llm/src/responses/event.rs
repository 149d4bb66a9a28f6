//! The events of a streamed response, and the final response.
//!
//! Parsed leniently, since a response is billed even if a detail is malformed: an invalid member counts as absent.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::item::Item;
use crate::error_object::ErrorObject;
use crate::usage::Usage;

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
    ItemAdded,
    /// A piece of text.
    #[serde(rename = "response.output_text.delta")]
    TextDelta(Delta),
    /// A piece of a refusal.
    #[serde(rename = "response.refusal.delta")]
    RefusalDelta(Delta),
    /// A piece of output that isn't text: arguments of a call, or reasoning.
    #[serde(
        rename = "response.function_call_arguments.delta",
        alias = "response.custom_tool_call_input.delta",
        alias = "response.mcp_call_arguments.delta",
        alias = "response.code_interpreter_call_code.delta",
        alias = "response.reasoning_text.delta",
        alias = "response.reasoning_summary_text.delta"
    )]
    OutputDelta(Delta),
    /// An item is complete.
    #[serde(rename = "response.output_item.done")]
    ItemDone {
        /// The item.
        #[serde(default)]
        item: Item,
    },
    /// The response is complete.
    #[serde(rename = "response.completed")]
    Completed {
        /// The complete response.
        response: Response,
    },
    /// The response failed.
    #[serde(rename = "response.failed")]
    Failed {
        /// The partial response, with the error.
        response: Response,
    },
    /// The response stopped early.
    #[serde(rename = "response.incomplete")]
    Incomplete {
        /// The partial response, with the reason.
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
    /// data: either an error, or a complete response from a server without streaming.
    ///
    /// # Errors
    ///
    /// If the data is not a JSON object.
    pub fn read(kind: &str, data: &str) -> serde_json::Result<Self> {
        if let Ok(TextDelta { kind: "response.output_text.delta", output_index, content_index, delta }) =
            serde_json::from_str(data)
        {
            return Ok(Self::TextDelta(Delta { output_index, content_index, delta }));
        }
        let mut data: serde_json::Map<String, Value> = serde_json::from_str(data)?;
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
        serde_json::from_value(Value::Object(data))
    }
}

fn infer_kind(data: &serde_json::Map<String, Value>) -> &'static str {
    let named = |name: &str| data.get(name).and_then(Value::as_str);
    match (named("object"), named("status")) {
        (Some("response"), Some("failed" | "cancelled")) => "response.failed",
        (Some("response"), Some("incomplete")) => "response.incomplete",
        (Some("response"), Some("in_progress" | "queued")) => "",
        (Some("response"), _) => "response.completed",
        (Some("error"), _) => "error",
        _ if data.get("error").is_some_and(|error| !error.is_null()) => "error",
        _ => "",
    }
}

/// A text delta in the published shape, which nearly all events have. Parsed without an intermediate tree; everything
/// else takes the lenient path.
#[derive(Deserialize)]
struct TextDelta<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    output_index: u32,
    content_index: u32,
    delta: String,
}

/// A piece of the text of a part.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Delta {
    /// The index of the item.
    #[serde(default, deserialize_with = "lenient")]
    pub output_index: u32,
    /// The index of the part within the item.
    #[serde(default, deserialize_with = "lenient")]
    pub content_index: u32,
    /// The text.
    #[serde(default, deserialize_with = "lenient")]
    pub delta: String,
}

/// The response in its first event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct CreatedResponse {
    /// The id.
    #[serde(default, deserialize_with = "lenient")]
    pub id: Option<String>,
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

    fn delta(output_index: u32, content_index: u32, delta: &str) -> Event {
        Event::TextDelta(Delta { output_index, content_index, delta: delta.to_owned() })
    }

    #[test]
    fn fast_and_lenient_paths_read_the_same_delta() {
        let event = r#"{"type":"response.output_text.delta","sequence_number":4,"item_id":"m","output_index":1,"content_index":2,"delta":"a\"\u00e9","logprobs":[{"a":1}]}"#;
        let read = |data: &str| Event::read("", data).unwrap();
        assert_eq!(read(event), delta(1, 2, "a\"é"));
        // An escaped type, a duplicate member, invalid numbers, missing members.
        assert_eq!(read(&event.replace("output_text", "output\\u005ftext")), delta(1, 2, "a\"é"));
        assert_eq!(read(&event.replace("\"logprobs\"", "\"delta\":\"b\",\"logprobs\"")), delta(1, 2, "b"));
        assert_eq!(read(&event.replace(":1,", ":\"1\",")), delta(0, 2, "a\"é"));
        assert_eq!(read(r#"{"type":"response.output_text.delta"}"#), delta(0, 0, ""));
        assert_eq!(read(&event.replace("output_text.delta", "output_text.done")), Event::Other);
        let named = Event::read("response.output_text.delta", r#"{"delta":"a"}"#).unwrap();
        assert_eq!(named, delta(0, 0, "a"));
        assert!(Event::read("", &format!("{event}}}")).is_err() && Event::read("", "[]").is_err());
    }
}
