//! The events of a streamed response, and the response they end with.

use serde::{Deserialize, Deserializer};

use super::error::ErrorObject;

/// One event, told apart by its data's `type`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type")]
pub enum Event {
    /// The response begins.
    #[serde(rename = "response.created")]
    Created {
        /// What it goes on from.
        response: Begun,
    },
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

/// A piece of a part's text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Delta {
    /// Which item.
    #[serde(default)]
    pub output_index: u32,
    /// Which part of the item.
    #[serde(default)]
    pub content_index: u32,
    /// The piece.
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
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Response {
    /// Its id, to continue from.
    pub id: String,
    /// The model that answered.
    #[serde(default)]
    pub model: Option<String>,
    /// Whether it is whole; the event's type says so too.
    #[serde(default)]
    pub status: Option<String>,
    /// Whether it is kept, to go on from.
    #[serde(default)]
    pub store: Option<bool>,
    /// The response that it went on from; null when it went on from none.
    #[serde(default, deserialize_with = "present")]
    pub previous_response_id: Option<Option<String>>,
    /// What was written.
    #[serde(default)]
    pub output: Option<Vec<Item>>,
    /// Tokens used.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// Why it failed.
    #[serde(default)]
    pub error: Option<ErrorObject>,
    /// Why it stopped early.
    #[serde(default)]
    pub incomplete_details: Option<IncompleteDetails>,
}

/// One item of the output.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Item {
    /// Something said.
    Message {
        /// Its parts, in order.
        content: Vec<Part>,
    },
    /// A function to call.
    FunctionCall {
        /// The id to answer with.
        call_id: String,
        /// The function.
        name: String,
        /// A JSON text, as the model wrote it.
        arguments: String,
    },
    /// Reasoning, built-in tools, and what does not exist yet.
    #[serde(other)]
    Other,
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Text.
    OutputText {
        /// The text.
        text: String,
    },
    /// The model declines, and says so.
    Refusal {
        /// What it says.
        refusal: String,
    },
    /// What does not exist yet.
    #[serde(other)]
    Other,
}

/// Tokens used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Usage {
    /// Of the input.
    #[serde(default)]
    pub input_tokens: u64,
    /// Details of the input.
    #[serde(default)]
    pub input_tokens_details: Option<InputDetails>,
    /// Of the output.
    #[serde(default)]
    pub output_tokens: u64,
    /// Details of the output.
    #[serde(default)]
    pub output_tokens_details: Option<OutputDetails>,
    /// Together, as the provider counts them.
    #[serde(default)]
    pub total_tokens: Option<u64>,
}

/// Details of the input's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct InputDetails {
    /// Served from the provider's cache.
    #[serde(default)]
    pub cached_tokens: Option<u64>,
}

/// Details of the output's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct OutputDetails {
    /// Spent on reasoning.
    #[serde(default)]
    pub reasoning_tokens: Option<u64>,
}

/// Why a response stopped early.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct IncompleteDetails {
    /// `max_output_tokens`, `content_filter`, …
    #[serde(default)]
    pub reason: Option<String>,
}

/// Tells a member that is null from one that is not there.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}
