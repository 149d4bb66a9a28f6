//! A request to `POST {base}/responses`.

use agent::hosted::{MemoryLimit, SearchContextSize};
use agent::settings::{Effort, ServiceTier, Verbosity};
use serde::Serialize;
use serde_json::Value;

/// The whole body (AGN-003 §3).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Request<'a> {
    /// The provider's model id.
    pub model: &'a str,
    /// Absent when the context sets none, since some models refuse it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// From which share of the likeliest words the model chooses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// The most tokens the reply may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// How much a reasoning model may think.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    /// How the text of the reply is to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Text<'a>>,
    /// The provider's tier of service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<ServiceTier>,
    /// Whether one reply may call several tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// Requests with one key share a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_cache_key: Option<&'a str>,
    /// Whose request it is, as a hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub safety_identifier: Option<&'a str>,
    /// False when the provider may not keep the reply; absent otherwise, since keeping is the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<bool>,
    /// What the response shall hold besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include: Option<[&'static str; 1]>,
    /// Always true: only a stream can be watched, forwarded and ended early.
    pub stream: bool,
    /// The tools that the model may call. They stand before the input, whose end changes with every call: so
    /// the beginning of a request is that of the one before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Offered<'a>>,
    /// The response that this request continues from (AGN-003 §4.4).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_response_id: Option<&'a str>,
    /// Messages and replies of the conversation, answers to calls, and the message of this call.
    pub input: Vec<Item<'a>>,
    /// The tool that the model must call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice<'a>>,
}

/// `{"effort": …}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Reasoning {
    /// The provider's word for it.
    pub effort: Effort,
}

/// `{"format": …, "verbosity": …}`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Text<'a> {
    /// The JSON that it has to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Format<'a>>,
    /// How many words it makes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<Verbosity>,
}

/// `{"type": "json_schema", …}`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "type", rename = "json_schema")]
pub struct Format<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'a str>,
    /// The JSON schema.
    pub schema: &'a Value,
    /// Whether the provider holds the model to it.
    pub strict: bool,
}

/// One item of the input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Item<'a> {
    /// The answer to a function call.
    CallOutput(CallOutput<'a>),
    /// A function call of an earlier reply.
    Call(Call<'a>),
    /// How the model came to it.
    Reasoned(Reasoned<'a>),
    /// What a tool of the provider's did on the way, as it came.
    Hosted(&'a Value),
    /// A message.
    Message(Message<'a>),
}

/// `{"type": "function_call_output", …}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "function_call_output")]
pub struct CallOutput<'a> {
    /// The call that is answered.
    pub call_id: &'a str,
    /// JSON as text.
    pub output: std::borrow::Cow<'a, str>,
}

/// `{"type": "function_call", …}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "function_call")]
pub struct Call<'a> {
    /// What its output names.
    pub call_id: &'a str,
    /// The function.
    pub name: &'a str,
    /// JSON as text.
    pub arguments: &'a str,
}

/// `{"type": "reasoning", …}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "reasoning")]
pub struct Reasoned<'a> {
    /// The provider's id of it.
    pub id: &'a str,
    /// Its summary, as it came.
    pub summary: &'a [Value],
    /// The reasoning itself.
    pub encrypted_content: &'a str,
}

/// `{"role": …, "content": […]}`, as AGN-003 prints it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message<'a> {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Content<'a>,
}

/// What a message says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Content<'a> {
    /// Parts, in order.
    Parts(Vec<Part<'a>>),
    /// Text alone. The model's own earlier words go so: as an `output_text` part they would need the id of a
    /// message that the provider has stored.
    Text(&'a str),
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The orchestrator.
    System,
    /// The user's side.
    User,
    /// The model, in an earlier turn that is told again.
    Assistant,
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part<'a> {
    /// Text; the API refuses the type `text` of older documents.
    InputText {
        /// The text.
        text: std::borrow::Cow<'a, str>,
    },
    /// An image.
    InputImage {
        /// A `data:` URL.
        image_url: String,
        /// How closely the model looks; `auto` leaves it to the provider.
        detail: &'static str,
    },
    /// A document.
    InputFile {
        /// Its name; the provider takes the kind of document from it too.
        filename: &'a str,
        /// A `data:` URL.
        file_data: String,
    },
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Offered<'a> {
    /// Answered by whoever asks.
    Function(Tool<'a>),
    /// Run by the provider.
    Hosted(Hosted<'a>),
}

/// A tool that the provider runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Hosted<'a> {
    /// Searches the web.
    WebSearch {
        /// Where it may.
        #[serde(skip_serializing_if = "Option::is_none")]
        filters: Option<Domains<'a>>,
        /// How much of what it finds the model reads.
        #[serde(skip_serializing_if = "Option::is_none")]
        search_context_size: Option<SearchContextSize>,
    },
    /// Searches the provider's stores.
    FileSearch {
        /// Which.
        vector_store_ids: &'a [String],
        /// How many results the model reads at most.
        #[serde(skip_serializing_if = "Option::is_none")]
        max_num_results: Option<u32>,
    },
    /// Runs code.
    CodeInterpreter {
        /// Where.
        container: Container<'a>,
    },
    /// The tools of a remote server.
    Mcp {
        /// What the model calls it.
        server_label: &'a str,
        /// Where it is.
        server_url: &'a str,
        /// What it is for.
        #[serde(skip_serializing_if = "Option::is_none")]
        server_description: Option<&'a str>,
        /// Which of its tools.
        #[serde(skip_serializing_if = "Option::is_none")]
        allowed_tools: Option<&'a [String]>,
        /// `never`: there is nobody to ask.
        require_approval: &'static str,
    },
}

/// `{"allowed_domains": […]}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Domains<'a> {
    /// The domains.
    pub allowed_domains: &'a [String],
}

/// `{"type": "auto", …}`: the provider makes one, or goes on with the conversation's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "auto")]
pub struct Container<'a> {
    /// Files that are there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_ids: Option<&'a [String]>,
    /// How much memory it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<MemoryLimit>,
}

/// A function tool, in the API's flat shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename = "function")]
pub struct Tool<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it does.
    pub description: &'a str,
    /// JSON schema of its arguments.
    pub parameters: &'a Value,
    /// Whether the provider holds the model to the schema.
    pub strict: bool,
}

/// `{"type": "function", "name": …}` (AGN-003 §6.2 on the API's wire).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "function")]
pub struct ToolChoice<'a> {
    /// The tool that must be called.
    pub name: &'a str,
}
