//! The events of a streamed response, and the response they end with.
//!
//! Read tolerantly, since a response is paid for once it is there: a member that can't be read counts as absent.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::error::ErrorObject;
use super::item::Item;
use super::usage::Usage;

/// One event, told apart by its data's `type`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type")]
pub enum Event {
    /// The response begins.
    #[serde(rename = "response.created")]
    Created {
        /// What it goes on from.
        #[serde(default, deserialize_with = "readable")]
        response: Begun,
    },
    /// An item begins.
    #[serde(rename = "response.output_item.added")]
    ItemAdded,
    /// Some text was written.
    #[serde(rename = "response.output_text.delta")]
    TextDelta(Delta),
    /// Some of a refusal was written.
    #[serde(rename = "response.refusal.delta")]
    RefusalDelta(Delta),
    /// An item is whole.
    #[serde(rename = "response.output_item.done")]
    ItemDone {
        /// The item.
        #[serde(default)]
        item: Item,
    },
    /// The response is whole.
    #[serde(rename = "response.completed")]
    Completed {
        /// All of it.
        response: Response,
    },
    /// The response failed.
    #[serde(rename = "response.failed")]
    Failed {
        /// What there is of it, with the error.
        response: Response,
    },
    /// The response stopped early.
    #[serde(rename = "response.incomplete")]
    Incomplete {
        /// What there is of it, with the reason.
        response: Response,
    },
    /// The stream failed. The published shape is flat, some servers nest it.
    #[serde(rename = "error")]
    Error(ErrorObject),
    /// Anything else, types that do not exist yet included.
    #[serde(other)]
    Other,
}

impl Event {
    /// Reads an event's data. Where that has no `type`, the stream's `event` field tells, and else what the data
    /// looks like: a whole response, as it comes where no stream was understood, or an error.
    ///
    /// # Errors
    ///
    /// When the data is no JSON object.
    pub fn read(kind: &str, data: &str) -> serde_json::Result<Self> {
        if let Ok(Piece { kind: "response.output_text.delta", output_index, content_index, delta }) =
            serde_json::from_str(data)
        {
            return Ok(Self::TextDelta(Delta { output_index, content_index, delta }));
        }
        let mut data: serde_json::Map<String, Value> = serde_json::from_str(data)?;
        if !data.get("type").is_some_and(Value::is_string) {
            let kind = match kind {
                "" | "message" => kind_of(&data),
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

fn kind_of(data: &serde_json::Map<String, Value>) -> &'static str {
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

/// What nearly every event of a stream is, read without a tree of its members. What is not just so is read as the
/// others are.
#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    output_index: u32,
    content_index: u32,
    delta: String,
}

/// A piece of a part's text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Delta {
    /// Which item.
    #[serde(default, deserialize_with = "readable")]
    pub output_index: u32,
    /// Which part of the item.
    #[serde(default, deserialize_with = "readable")]
    pub content_index: u32,
    /// The piece.
    #[serde(default, deserialize_with = "readable")]
    pub delta: String,
}

/// A response as its first event shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Begun {
    /// The response that it goes on from; null when it goes on from none.
    #[serde(default, deserialize_with = "present")]
    pub previous_response_id: Option<Option<String>>,
}

/// A response as its terminal event shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Response {
    /// Its id, to continue from.
    #[serde(default, deserialize_with = "readable")]
    pub id: Option<String>,
    /// The model that answered.
    #[serde(default, deserialize_with = "readable")]
    pub model: Option<String>,
    /// Whether it is whole; the event's type says so too.
    #[serde(default, deserialize_with = "readable")]
    pub status: Option<String>,
    /// Whether it is kept, to go on from.
    #[serde(default, deserialize_with = "readable")]
    pub store: Option<bool>,
    /// The response that it went on from; null when it went on from none.
    #[serde(default, deserialize_with = "present")]
    pub previous_response_id: Option<Option<String>>,
    /// What was written.
    #[serde(default, deserialize_with = "readable")]
    pub output: Vec<Item>,
    /// Tokens used.
    #[serde(default)]
    pub usage: Usage,
    /// Why it failed.
    #[serde(default)]
    pub error: Option<ErrorObject>,
    /// Why it stopped early.
    #[serde(default, deserialize_with = "readable")]
    pub incomplete_details: Option<IncompleteDetails>,
}

/// Why a response stopped early.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct IncompleteDetails {
    /// `max_output_tokens`, `content_filter`, …
    #[serde(default, deserialize_with = "readable")]
    pub reason: Option<String>,
}

/// What can be read as it should be, and the default in place of anything else.
fn readable<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).unwrap_or_default())
}

/// Tells a member that is null from one that is not there, or can't be read.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
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
    fn a_delta_is_read_alike_whether_it_is_just_so_or_not() {
        let whole = r#"{"type":"response.output_text.delta","sequence_number":4,"item_id":"m","output_index":1,"content_index":2,"delta":"a\"\u00e9","logprobs":[{"a":1}]}"#;
        let of = |data: &str| Event::read("", data).unwrap();
        assert_eq!(of(whole), delta(1, 2, "a\"é"));
        // An escaped type, a member twice, numbers that are none, members that are not there.
        assert_eq!(of(&whole.replace("output_text", "output\\u005ftext")), delta(1, 2, "a\"é"));
        assert_eq!(of(&whole.replace("\"logprobs\"", "\"delta\":\"b\",\"logprobs\"")), delta(1, 2, "b"));
        assert_eq!(of(&whole.replace(":1,", ":\"1\",")), delta(0, 2, "a\"é"));
        assert_eq!(of(r#"{"type":"response.output_text.delta"}"#), delta(0, 0, ""));
        assert_eq!(of(&whole.replace("output_text.delta", "output_text.done")), Event::Other);
        let named = Event::read("response.output_text.delta", r#"{"delta":"a"}"#).unwrap();
        assert_eq!(named, delta(0, 0, "a"));
        assert!(Event::read("", &format!("{whole}}}")).is_err() && Event::read("", "[]").is_err());
    }
}
