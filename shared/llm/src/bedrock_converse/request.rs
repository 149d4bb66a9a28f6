//! A request to `POST {base}/model/{model}/converse-stream`.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

/// The request body. The model is in the path.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Request<'a> {
    /// The conversation. User and assistant alternate.
    pub messages: Vec<Message<'a>>,
    /// The system prompt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<Content<'a>>,
    /// The settings that all models share.
    #[serde(skip_serializing_if = "InferenceConfig::is_empty")]
    pub inference_config: InferenceConfig<'a>,
    /// The tools that the model may call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_config: Option<ToolConfig<'a>>,
    /// The guardrail that checks input and output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guardrail_config: Option<GuardrailConfig<'a>>,
    /// Members of the model's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_model_request_fields: Option<Value>,
    /// Labels of the invocation in AWS's logs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_metadata: Option<RequestMetadata<'a>>,
    /// The service tier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<ServiceTier>,
    /// The effort and the format of the reply.
    #[serde(skip_serializing_if = "OutputConfig::is_empty")]
    pub output_config: OutputConfig<'a>,
}

/// The settings that all models share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InferenceConfig<'a> {
    /// The most tokens of the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The nucleus sampling threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// The texts before which a reply ends.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub stop_sequences: &'a [String],
}

impl InferenceConfig<'_> {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The tools, and which of them to call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolConfig<'a> {
    /// The tools.
    pub tools: Vec<Tool<'a>>,
    /// The tool that the model must call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice<'a>>,
}

/// `{"toolSpec": {…}}`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Tool<'a> {
    /// A function that the model may call.
    ToolSpec(ToolSpec<'a>),
}

/// A function that the model may call.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolSpec<'a> {
    /// The name.
    pub name: &'a str,
    /// The description.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub description: &'a str,
    /// The schema of the input.
    pub input_schema: InputSchema<'a>,
    /// True if the provider enforces the schema.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
}

/// `{"json": {…}}`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum InputSchema<'a> {
    /// A JSON schema.
    Json(&'a Value),
}

/// `{"tool": {"name": …}}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolChoice<'a> {
    /// The model must call a tool, whichever.
    Any {},
    /// The model must call this tool.
    Tool {
        /// The tool's name.
        name: &'a str,
    },
}

/// The guardrail that checks input and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GuardrailConfig<'a> {
    /// The id or the ARN.
    pub guardrail_identifier: &'a str,
    /// The version.
    pub guardrail_version: &'a str,
    /// Always synchronous: text is checked before it is streamed.
    pub stream_processing_mode: &'static str,
}

/// Labels of the invocation in AWS's logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RequestMetadata<'a> {
    /// A hash that identifies the session.
    pub session: &'a str,
    /// A hash that identifies the user.
    pub user: &'a str,
}

/// `{"type": …}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ServiceTier {
    /// The standard tier.
    Default,
    /// Slower and cheaper.
    Flex,
    /// Faster and more expensive.
    Priority,
}

/// The effort and the format of the reply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OutputConfig<'a> {
    /// The effort.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<&'static str>,
    /// The format of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_format: Option<TextFormat<'a>>,
}

impl OutputConfig<'_> {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// `{"type": "json_schema", "structure": {"jsonSchema": {…}}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "json_schema")]
pub struct TextFormat<'a> {
    /// The structure of the text.
    pub structure: Structure<'a>,
}

/// The structure of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Structure<'a> {
    /// JSON of this schema, which the provider enforces.
    JsonSchema {
        /// The JSON schema, as text.
        schema: String,
        /// The name.
        name: &'a str,
        /// The description.
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
    },
}

/// A message.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Message<'a> {
    /// The role.
    pub role: Role,
    /// The content.
    pub content: Vec<Content<'a>>,
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

/// A block of a message or of the system prompt: an object with one member.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Content<'a> {
    /// Text.
    Text(Cow<'a, str>),
    /// An image.
    Image {
        /// The format, such as `png`.
        format: &'a str,
        /// The image.
        source: Source,
    },
    /// A document.
    Document {
        /// The format, such as `pdf`.
        format: &'a str,
        /// The name, which no other document of the request has.
        name: String,
        /// The document.
        source: Source,
    },
    /// Reasoning of an earlier reply, unchanged.
    ReasoningContent(ReasoningContent<'a>),
    /// A call of an earlier reply.
    ToolUse {
        /// The id that the result refers to.
        tool_use_id: &'a str,
        /// The tool's name.
        name: &'a str,
        /// The arguments: an object.
        input: Value,
    },
    /// The result of a call.
    ToolResult {
        /// The id of the call.
        tool_use_id: &'a str,
        /// The result: one text.
        content: [ResultContent<'a>; 1],
        /// `error` if the call failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<&'static str>,
    },
    /// A cache point: the prefix up to here is cached.
    CachePoint(CachePoint),
}

/// `{"bytes": …}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    /// The content, encoded in base64.
    pub bytes: String,
}

/// Reasoning of an earlier reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ReasoningContent<'a> {
    /// Signed reasoning.
    ReasoningText {
        /// The thoughts.
        text: &'a str,
        /// The signature.
        signature: &'a str,
    },
    /// Encrypted reasoning.
    RedactedContent(&'a str),
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ResultContent<'a> {
    /// Text.
    Text(Cow<'a, str>),
}

/// `{"type": "default"}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum CachePoint {
    /// Cached for the provider's usual five minutes.
    Default,
}
