//! A request to `POST {base}/responses`.

use agent::model::hosted_tools::{MemoryLimit, SearchContextSize};
use agent::model::model_settings::{Effort, ReasoningSummary, ServiceTier, Verbosity};
use serde::Serialize;
use serde_json::Value;

/// The request body.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Request<'a> {
    /// The provider's model id.
    pub model: &'a str,
    /// The sampling temperature. Absent if the context sets none, since some models reject it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The nucleus sampling threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// The most tokens of the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// The reasoning settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    /// The text settings of the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Text<'a>>,
    /// The service tier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<ServiceTier>,
    /// True if one reply may call several tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// The most calls of hosted tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u32>,
    /// The cache key. Requests with the same key share a prompt cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_cache_key: Option<&'a str>,
    /// A hash that identifies the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub safety_identifier: Option<&'a str>,
    /// False if the provider may not store the reply. Absent otherwise, since storing is the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<bool>,
    /// Additional data of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include: Option<[&'static str; 1]>,
    /// Always true: only a stream can be monitored, forwarded and cancelled.
    pub stream: bool,
    /// The tools that the model may call. Serialized before the input, which grows with every call, so that successive
    /// requests share a prefix.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec<'a>>,
    /// The response that this request continues from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_response_id: Option<&'a str>,
    /// The history, the outputs of calls, and the user message.
    pub input: Vec<Item<'a>>,
    /// The tools that the model must call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice<'a>>,
}

/// `{"effort": …, "summary": …}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Reasoning {
    /// The reasoning effort.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// The summary of the reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<ReasoningSummary>,
}

/// `{"format": …, "verbosity": …}`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Text<'a> {
    /// The format of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Format<'a>>,
    /// The verbosity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<Verbosity>,
}

/// The format of a text.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Format<'a> {
    /// JSON with a schema.
    JsonSchema(SchemaFormat<'a>),
    /// A JSON object of any form.
    JsonObject,
}

/// The members of a format with a schema.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SchemaFormat<'a> {
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

/// An item of the input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Item<'a> {
    /// The output of a function call.
    CallOutput(CallOutput<'a>),
    /// A function call of an earlier reply.
    Call(Call<'a>),
    /// Reasoning of an earlier reply.
    Reasoning(ReasoningItem<'a>),
    /// A hosted tool call of an earlier reply, unchanged.
    Hosted(&'a Value),
    /// A message.
    Message(Message<'a>),
}

/// The output of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type")]
pub enum CallOutput<'a> {
    /// Of a function.
    #[serde(rename = "function_call_output")]
    Function {
        /// The id of the call.
        call_id: &'a str,
        /// The output, as JSON text.
        output: std::borrow::Cow<'a, str>,
    },
    /// Of a freeform tool.
    #[serde(rename = "custom_tool_call_output")]
    Custom {
        /// The id of the call.
        call_id: &'a str,
        /// The output, as JSON text.
        output: std::borrow::Cow<'a, str>,
    },
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type")]
pub enum Call<'a> {
    /// Of a function.
    #[serde(rename = "function_call")]
    Function {
        /// The id that the output refers to.
        call_id: &'a str,
        /// The function name.
        name: &'a str,
        /// The arguments, as JSON text.
        arguments: &'a str,
    },
    /// Of a freeform tool.
    #[serde(rename = "custom_tool_call")]
    Custom {
        /// The id that the output refers to.
        call_id: &'a str,
        /// The name of the tool.
        name: &'a str,
        /// The text that the model wrote.
        input: std::borrow::Cow<'a, str>,
    },
}

/// `{"type": "reasoning", …}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "reasoning")]
pub struct ReasoningItem<'a> {
    /// The provider's id.
    pub id: &'a str,
    /// The summary, unchanged.
    pub summary: &'a [Value],
    /// The encrypted reasoning.
    pub encrypted_content: &'a str,
}

/// `{"role": …, "content": […]}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message<'a> {
    /// The role.
    pub role: Role,
    /// The content.
    pub content: Content<'a>,
    /// The phase of the model's own message. Without it, some models answer worse.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<&'a str>,
}

/// The content of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Content<'a> {
    /// Parts, in order.
    Parts(Vec<Part<'a>>),
    /// Plain text, for earlier replies of the model: an `output_text` part would need the id of a stored message.
    Text(&'a str),
}

/// The role of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The orchestrator.
    System,
    /// The user.
    User,
    /// The model, in a replayed turn.
    Assistant,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part<'a> {
    /// Text. The API rejects the older type `text`.
    InputText {
        /// The text.
        text: std::borrow::Cow<'a, str>,
    },
    /// An image.
    InputImage {
        /// A `data:` URL.
        image_url: String,
        /// The level of detail. `auto` leaves it to the provider.
        detail: &'static str,
    },
    /// A document.
    InputFile {
        /// The file name, from which the provider also derives the document type.
        filename: &'a str,
        /// A `data:` URL.
        file_data: String,
    },
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ToolSpec<'a> {
    /// Run by the caller.
    Own(Tool<'a>),
    /// Run by the provider.
    Hosted(Hosted<'a>),
    /// Run by the provider, as a client brought it.
    Client(&'a Value),
}

/// A tool that the provider runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Hosted<'a> {
    /// Searches the web.
    WebSearch {
        /// The domains to search.
        #[serde(skip_serializing_if = "Option::is_none")]
        filters: Option<Domains<'a>>,
        /// The share of the results that the model reads.
        #[serde(skip_serializing_if = "Option::is_none")]
        search_context_size: Option<SearchContextSize>,
    },
    /// Searches the provider's vector stores.
    FileSearch {
        /// The vector stores.
        vector_store_ids: &'a [String],
        /// The most results that the model reads.
        #[serde(skip_serializing_if = "Option::is_none")]
        max_num_results: Option<u32>,
    },
    /// Runs code.
    CodeInterpreter {
        /// The container.
        container: Container<'a>,
    },
    /// The tools of a remote server.
    Mcp {
        /// The label of the server.
        server_label: &'a str,
        /// The URL of the server.
        server_url: &'a str,
        /// The description of the server.
        #[serde(skip_serializing_if = "Option::is_none")]
        server_description: Option<&'a str>,
        /// The tools that the model may use.
        #[serde(skip_serializing_if = "Option::is_none")]
        allowed_tools: Option<&'a [String]>,
        /// Always `never`, since nobody could approve.
        require_approval: &'static str,
    },
}

/// `{"allowed_domains": […]}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Domains<'a> {
    /// The domains.
    pub allowed_domains: &'a [String],
}

/// `{"type": "auto", …}`: the provider creates a container, or reuses the conversation's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "auto")]
pub struct Container<'a> {
    /// The files in the container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_ids: Option<&'a [String]>,
    /// The memory limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<MemoryLimit>,
}

/// A tool that the caller runs, in the API's flat shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Tool<'a> {
    /// A function.
    Function {
        /// The name.
        name: &'a str,
        /// The description.
        description: &'a str,
        /// The JSON schema of the arguments.
        parameters: &'a Value,
        /// True if the provider enforces the schema.
        strict: bool,
    },
    /// A freeform tool.
    Custom {
        /// The name.
        name: &'a str,
        /// The description.
        description: &'a str,
        /// The format of the input.
        format: &'a Value,
    },
}

/// The tools that the model must call: `"required"`, or `{"type": "function", "name": …}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ToolChoice<'a> {
    /// Any tool.
    Required(&'static str),
    /// This one.
    Named(ToolName<'a>),
}

/// `{"type": "function", "name": …}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ToolName<'a> {
    /// A function.
    Function {
        /// The name.
        name: &'a str,
    },
    /// A freeform tool.
    Custom {
        /// The name.
        name: &'a str,
    },
}
