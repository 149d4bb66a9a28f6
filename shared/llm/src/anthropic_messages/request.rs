//! A request to `POST {base}/messages`.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

/// The request body.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Request<'a> {
    /// The provider's model id.
    pub model: &'a str,
    /// The most tokens of the reply, thinking included.
    pub max_tokens: u32,
    /// The sampling temperature. The newest models refuse it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The nucleus sampling threshold. The newest models refuse it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// The texts before which a reply ends.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub stop_sequences: &'a [String],
    /// The thinking settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
    /// The effort and the format of the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_config: Option<OutputConfig<'a>>,
    /// The service tier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<&'static str>,
    /// The user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata<'a>>,
    /// Always true: only a stream can be monitored, forwarded and cancelled.
    pub stream: bool,
    /// The tools that the model may call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool<'a>>,
    /// The choice of tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice<'a>>,
    /// The system prompt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<Block<'a>>,
    /// The conversation.
    pub messages: Vec<Message<'a>>,
}

/// The thinking settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Thinking {
    /// The model decides how much to think.
    Adaptive {
        /// `summarized` for a model that shows no thinking unasked.
        #[serde(skip_serializing_if = "Option::is_none")]
        display: Option<&'static str>,
    },
    /// The model doesn't think.
    Disabled,
}

/// `{"effort": …, "format": {…}}`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct OutputConfig<'a> {
    /// The effort.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<&'static str>,
    /// The format of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Format<'a>>,
}

/// `{"type": "json_schema", "schema": {…}}`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "type", rename = "json_schema")]
pub struct Format<'a> {
    /// The JSON schema, which the provider enforces.
    pub schema: &'a Value,
}

/// `{"user_id": …}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Metadata<'a> {
    /// A hash that identifies the user.
    pub user_id: &'a str,
}

/// A function that the model may call.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Tool<'a> {
    /// The name.
    pub name: &'a str,
    /// The description.
    pub description: &'a str,
    /// The JSON schema of the input.
    pub input_schema: &'a Value,
    /// True if the provider enforces the schema.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
}

/// The choice of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ToolChoice<'a> {
    /// The model decides.
    Auto {
        /// True if a reply calls at most one tool.
        disable_parallel_tool_use: bool,
    },
    /// The model must call a tool, whichever.
    Any {
        /// True if a reply calls exactly one tool.
        #[serde(skip_serializing_if = "Option::is_none")]
        disable_parallel_tool_use: Option<bool>,
    },
    /// The model must call this tool.
    Tool {
        /// The tool's name.
        name: &'a str,
        /// True if a reply calls exactly one tool.
        #[serde(skip_serializing_if = "Option::is_none")]
        disable_parallel_tool_use: Option<bool>,
    },
}

/// A message.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Message<'a> {
    /// The role.
    pub role: Role,
    /// The content.
    pub content: Vec<Block<'a>>,
}

/// The role of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The user, who also brings the results of tools.
    User,
    /// The model.
    Assistant,
}

/// A block of a message or of the system prompt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Block<'a> {
    /// The content.
    #[serde(flatten)]
    pub content: Content<'a>,
    /// A cache point: the prefix up to this block is cached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControl>,
}

impl<'a> From<Content<'a>> for Block<'a> {
    fn from(content: Content<'a>) -> Self {
        Self { content, cache_control: None }
    }
}

/// `{"type": "ephemeral"}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum CacheControl {
    /// Cached for the provider's usual five minutes.
    Ephemeral,
}

/// The content of a block.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content<'a> {
    /// Text.
    Text {
        /// The text.
        text: Cow<'a, str>,
    },
    /// An image.
    Image {
        /// The image.
        source: Source<'a>,
    },
    /// A document.
    Document {
        /// The document.
        source: Source<'a>,
        /// The file name.
        title: &'a str,
    },
    /// Thinking of an earlier reply, unchanged.
    Thinking {
        /// The thoughts.
        thinking: &'a str,
        /// The signature.
        signature: &'a str,
    },
    /// Encrypted thinking of an earlier reply, unchanged.
    RedactedThinking {
        /// The encrypted thoughts.
        data: &'a str,
    },
    /// A call of an earlier reply.
    ToolUse {
        /// The id that the result refers to.
        id: &'a str,
        /// The tool's name.
        name: &'a str,
        /// The arguments: an object.
        input: Value,
    },
    /// The result of a call.
    ToolResult {
        /// The id of the call.
        tool_use_id: &'a str,
        /// The result.
        content: &'a str,
        /// True if the call failed.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// `{"type": "base64", "media_type": …, "data": …}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "base64")]
pub struct Source<'a> {
    /// The media type.
    pub media_type: &'a str,
    /// The content, encoded in base64.
    pub data: String,
}
