//! A request to `POST {base}/chat/completions`.

use std::borrow::Cow;

use agent::model::model_settings::{Effort, ServiceTier, Verbosity};
use serde::Serialize;
use serde_json::Value;

/// The request body.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Request<'a> {
    /// The provider's model id.
    pub model: &'a str,
    /// The sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The nucleus sampling threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// The most tokens of the reply. The published successor, `max_completion_tokens`, is unknown to most servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The reasoning effort.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<Effort>,
    /// The verbosity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<Verbosity>,
    /// The texts before which a reply ends.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub stop: &'a [String],
    /// The format of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_format: Option<ResponseFormat<'a>>,
    /// The service tier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<ServiceTier>,
    /// True if one reply may call several tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// The cache key. Requests with the same key share a prompt cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_cache_key: Option<&'a str>,
    /// A hash that identifies the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub safety_identifier: Option<&'a str>,
    /// Always true: only a stream can be monitored, forwarded and cancelled.
    pub stream: bool,
    /// The options of the stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_options: Option<StreamOptions>,
    /// The tools that the model may call. Serialized before the messages, so that successive requests share a prefix.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool<'a>>,
    /// The conversation.
    pub messages: Vec<Message<'a>>,
    /// The tool that the model must call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice<'a>>,
}

/// `{"include_usage": true}`: the last chunk has the usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StreamOptions {
    /// True to get the usage.
    pub include_usage: bool,
}

/// `{"type": "json_schema", "json_schema": {…}}`, or `{"type": "json_object"}`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ResponseFormat<'a> {
    /// JSON with a schema.
    JsonSchema {
        /// The schema.
        json_schema: JsonSchema<'a>,
    },
    /// A JSON object of any form.
    JsonObject,
}

/// The schema of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct JsonSchema<'a> {
    /// The name.
    pub name: &'a str,
    /// The description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'a str>,
    /// The JSON schema.
    pub schema: &'a Value,
    /// True if the provider enforces the schema.
    pub strict: bool,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Message<'a> {
    /// The system message.
    System {
        /// The text.
        content: String,
    },
    /// The user's message.
    User {
        /// The content.
        content: Content<'a>,
    },
    /// An earlier reply.
    Assistant(Assistant<'a>),
    /// The output of a call.
    Tool {
        /// The id of the call.
        tool_call_id: &'a str,
        /// The output.
        content: Cow<'a, str>,
    },
}

/// An earlier reply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Assistant<'a> {
    /// The text. Null if the reply only called tools.
    pub content: Option<Cow<'a, str>>,
    /// The reasoning, for servers that return it under this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<&'a str>,
    /// The reasoning, for servers that return it under this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<&'a str>,
    /// The calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<Call<'a>>,
}

/// The content of a user's message. Text alone is a string, since not every server reads a list of text parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Content<'a> {
    /// Text.
    Text(String),
    /// Text, images and files.
    Parts(Vec<Part<'a>>),
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part<'a> {
    /// Text.
    Text {
        /// The text.
        text: Cow<'a, str>,
    },
    /// An image.
    ImageUrl {
        /// The image.
        image_url: ImageUrl,
    },
    /// A file.
    File {
        /// The file.
        file: File<'a>,
    },
}

/// `{"url": "data:…"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImageUrl {
    /// The `data:` URL.
    pub url: String,
}

/// `{"filename": …, "file_data": "data:…"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct File<'a> {
    /// The file name.
    pub filename: &'a str,
    /// The `data:` URL.
    pub file_data: String,
}

/// `{"id": …, "type": "function", "function": {…}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "function")]
pub struct Call<'a> {
    /// The id that the output refers to.
    pub id: &'a str,
    /// The function and its arguments.
    pub function: CalledFunction<'a>,
    /// The data that a Google model needs to continue from its call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_content: Option<ExtraContent<'a>>,
}

/// `{"google": {"thought_signature": …}}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ExtraContent<'a> {
    /// Google's content.
    pub google: GoogleContent<'a>,
}

/// `{"thought_signature": …}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct GoogleContent<'a> {
    /// The signature of the thoughts before the call.
    pub thought_signature: &'a str,
}

/// `{"name": …, "arguments": …}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CalledFunction<'a> {
    /// The function name.
    pub name: &'a str,
    /// The arguments, as JSON text.
    pub arguments: &'a str,
}

/// `{"type": "function", "function": {…}}`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "type", rename = "function")]
pub struct Tool<'a> {
    /// The function.
    pub function: Function<'a>,
}

/// A function that the model may call.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Function<'a> {
    /// The name.
    pub name: &'a str,
    /// The description.
    pub description: &'a str,
    /// The JSON schema of the arguments.
    pub parameters: &'a Value,
    /// True if the provider enforces the schema. Absent otherwise, since some servers don't know it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
}

/// The tools that the model must call: `"required"`, or `{"type": "function", "function": {"name": …}}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ToolChoice<'a> {
    /// Any tool.
    Required(&'static str),
    /// This one.
    Function(FunctionChoice<'a>),
}

/// `{"type": "function", "function": {"name": …}}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "function")]
pub struct FunctionChoice<'a> {
    /// The function.
    pub function: FunctionName<'a>,
}

/// `{"name": …}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FunctionName<'a> {
    /// The function name.
    pub name: &'a str,
}
