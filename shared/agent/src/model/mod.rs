//! The port to the language model: one reply per call.
//!
//! A [`Request`] contains what the orchestrator knows, independent of a provider's wire format. The adapter in `llm`
//! owns the wire format, the retries and the timeouts.

pub mod fallback_reason;
pub mod hosted_tools;
pub mod model_settings;
pub mod price;
pub mod providers;
pub mod route;

use std::{future::Future, time::Duration};

use bytes::Bytes;
use contracts::{ContentHash, Usage, request::UserTurn, response::ToolOutcome};
use protocol::turn::Turn;
use serde::{Deserialize, Serialize};

use crate::model::model_settings::ModelSettings;

/// A language model behind a Responses API.
pub trait Model: Send + Sync {
    /// Requests one reply. Everything that becomes known during the call goes to `observer`, with or without a reply.
    ///
    /// Dropping the future ends the generation at the provider. The call never outlasts `deadline`.
    fn reply(
        &self,
        request: &Request,
        deadline: Duration,
        observer: &mut Observer<'_>,
    ) -> impl Future<Output = Result<Reply, Error>> + Send;
}

/// Callbacks and results of one model call. It outlives the call, so the usage of a failed reply is known too.
pub struct Observer<'a> {
    /// Receives the text while it is written. The reply has the complete text.
    pub deltas: &'a mut (dyn FnMut(&str) + Send),
    /// Receives the pause before a retry, and none when the retry starts.
    pub pauses: Option<&'a mut (dyn FnMut(Option<Duration>) + Send)>,
    /// Tokens used, if the provider reports them.
    pub usage: Option<Usage>,
    /// True if there was any output.
    pub has_output: bool,
    /// The provider's id of a reply that didn't complete, if known.
    pub failed_response_id: Option<String>,
    /// The raw payloads, filled in if set.
    pub raw: Option<RawPayloads>,
}

/// The raw payloads of one model call, bounded in size. They never contain headers, so never a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawPayloads {
    /// The request body as sent; empty if nothing was sent.
    pub request: Bytes,
    /// The final response of the stream, or the received body if there is none; empty if nothing came.
    pub response: Bytes,
}

impl<'a> Observer<'a> {
    /// Creates an observer that sends text to `deltas` and captures no raw payloads.
    #[must_use]
    pub fn new(deltas: &'a mut (dyn FnMut(&str) + Send)) -> Self {
        Self { deltas, pauses: None, usage: None, has_output: false, failed_response_id: None, raw: None }
    }

    /// Reports pauses to `pauses`.
    #[must_use]
    pub fn with_pauses(self, pauses: &'a mut (dyn FnMut(Option<Duration>) + Send)) -> Self {
        Self { pauses: Some(pauses), ..self }
    }

    /// Reports a pause before a retry, or its end.
    pub fn report_pause(&mut self, pause: Option<Duration>) {
        if let Some(pauses) = &mut self.pauses {
            pauses(pause);
        }
    }

    /// Adds usage, if the provider reports it. A call may have more than one reply.
    pub fn add_usage(&mut self, usage: Option<Usage>) {
        self.usage = match (self.usage, usage) {
            (Some(before), Some(now)) => Some(before.saturating_add(now)),
            (before, now) => before.or(now),
        };
    }

    /// Captures the raw payloads if `wanted`.
    #[must_use]
    pub fn with_raw_payloads(self, wanted: bool) -> Self {
        Self { raw: wanted.then(RawPayloads::default), ..self }
    }
}

impl std::fmt::Debug for Observer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Observer").field("usage", &self.usage).finish_non_exhaustive()
    }
}

/// One model call.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The provider's name in the deployment; none for the default.
    pub provider: Option<String>,
    /// The provider's model id.
    pub model: String,
    /// Sampling and output settings.
    pub settings: ModelSettings,
    /// Pseudonyms of the session and the user.
    pub identifiers: Option<Identifiers>,
    /// True if the provider may store the reply, for later requests to continue from.
    pub store: bool,
    /// The conversation up to this call.
    pub chain: Chain,
    /// The new message of this call.
    pub message: Message,
    /// The turn's tools, sent on every request.
    pub tools: Vec<Tool>,
    /// A tool that the model must call.
    pub tool_choice: Option<String>,
    /// Set if the reply's reasoning is wanted, encrypted, so that it can be replayed when the provider stores
    /// nothing.
    pub wants_reasoning: bool,
}

/// The input of one model call: outputs of tool calls, then one user message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Outputs for the previous reply's calls, in the model's order.
    pub tool_outputs: Vec<ToolOutput>,
    /// The mode's key, for `[MODE: …]`.
    pub mode: String,
    /// Content under `[INSTRUCTION]`.
    pub instruction: Instruction,
    /// Complete block about earlier turns that are not replayed.
    pub earlier_turns_block: Option<String>,
    /// Complete `[CONTEXT]` block.
    pub context_block: Option<String>,
    /// Complete block with the text of the active files.
    pub files_block: Option<String>,
    /// Files and images that the provider reads itself.
    pub attachments: Vec<Attachment>,
    /// Changes to the mode's instructions or the solution context since the last request.
    pub update: Option<String>,
}

impl Message {
    /// Creates a message for tool results in this mode, with no outputs yet.
    #[must_use]
    pub fn in_mode(mode: &str) -> Self {
        Self {
            tool_outputs: Vec::new(),
            mode: mode.to_owned(),
            instruction: Instruction::ToolResults,
            earlier_turns_block: None,
            context_block: None,
            files_block: None,
            attachments: Vec::new(),
            update: None,
        }
    }
}

impl Request {
    /// Returns the response that the request continues from; none if it starts a chain.
    #[must_use]
    pub fn previous_response_id(&self) -> Option<&str> {
        match &self.chain {
            Chain::Initial { .. } => None,
            Chain::Continues { previous_response_id, .. } => Some(previous_response_id),
        }
    }
}

/// Pseudonyms that tell sessions and users apart and reveal nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identifiers {
    /// The session's. Its requests share a prefix and so a prompt cache (`prompt_cache_key`).
    pub session: String,
    /// The user's, for a provider's abuse monitoring (`safety_identifier`).
    pub user: String,
}

impl Identifiers {
    /// Creates hashes of the turn's session and user. They don't reveal whose the requests are.
    #[must_use]
    pub fn for_turn(turn: &Turn) -> Self {
        let org = &turn.key.session.org;
        let hash = |value: &str| ContentHash::hash_bytes(format!("{org}\n{value}").as_bytes()).to_string();
        Self { session: hash(turn.key.session.session.as_str()), user: hash(turn.requested_by.as_str()) }
    }
}

/// The conversation before a request: replayed, or continued from a stored response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chain {
    /// The first request of a chain, with a system message.
    Initial {
        /// The base system prompt.
        system: String,
        /// Other parts of the system message, in order. Blank ones are omitted.
        parts: Vec<String>,
        /// The conversation so far, if the provider doesn't store it.
        history: Vec<HistoryItem>,
    },
    /// Continues from a stored response, without a system message.
    Continues {
        /// Id of that response.
        previous_response_id: String,
    },
}

/// An item of the replayed conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HistoryItem {
    /// The message of a request.
    Message(Message),
    /// The items of a reply.
    Reply(Vec<ReplyItem>),
}

/// An item of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyItem {
    /// Text.
    Text(String),
    /// Encrypted reasoning.
    Reasoning(Reasoning),
    /// A call of one of the provider's tools.
    Hosted(HostedCall),
    /// A call of a function tool.
    Call(FunctionCall),
}

/// A call of one of the provider's tools, as the provider returned it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct HostedCall {
    /// Number of the reply's function calls before it.
    pub calls_before: usize,
    /// Number of the reply's reasoning items before it.
    pub reasoning_before: usize,
    /// The item.
    pub item: serde_json::Value,
}

impl HostedCall {
    /// Returns its approximate size in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.item.to_string().len()
    }
}

/// The model's reasoning, encrypted so that only its provider can read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Reasoning {
    /// Number of the reply's function calls before it.
    pub calls_before: usize,
    /// The provider's id of the item.
    pub id: String,
    /// The provider's summary, as received.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub summary: Vec<serde_json::Value>,
    /// The encrypted content.
    pub encrypted: String,
}

impl Reasoning {
    /// Returns its approximate size in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        let summary: usize = self.summary.iter().map(|part| part.to_string().len()).sum();
        self.id.len() + self.encrypted.len() + summary
    }
}

/// A file that the provider reads itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attachment {
    /// An image in a format that the API accepts (`input_image`).
    Image {
        /// Media type.
        media_type: String,
        /// Content.
        bytes: Bytes,
    },
    /// A document in a format that the API accepts (`input_file`).
    File {
        /// File name, which the model sees.
        name: String,
        /// Media type.
        media_type: String,
        /// Content.
        bytes: Bytes,
    },
}

/// The content under `[INSTRUCTION]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instruction {
    /// The user's text.
    User(String),
    /// The user sent only files or images.
    FilesAlone,
    /// The turn continues from tool results.
    ToolResults,
}

impl Instruction {
    /// Returns the instruction of a user's request.
    #[must_use]
    pub fn from_request(request: &UserTurn) -> Self {
        request.instruction.clone().map_or(Self::FilesAlone, Self::User)
    }
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Name.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: serde_json::Value,
    /// Set if the provider must enforce the schema.
    pub strict: bool,
}

/// The output of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// The call.
    pub call: FunctionCall,
    /// Result or error.
    pub outcome: ToolOutcome,
}

/// A call that the model requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionCall {
    /// The provider's id of the call.
    pub call_id: String,
    /// The tool's name.
    pub name: String,
    /// Arguments, as JSON text written by the model.
    pub arguments: String,
}

/// A complete reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The provider's id of the response, for later requests to continue from.
    pub response_id: String,
    /// The model, as the provider reports it.
    pub model: String,
    /// The text, with its segments separated by a blank line. A refusal is text too.
    pub text: String,
    /// Function calls, in the model's order.
    pub calls: Vec<FunctionCall>,
    /// True if the provider stored the reply for later requests to continue from. False if `store` was not set, or if
    /// the provider reports that it stored nothing or ignored the response to continue from.
    pub is_stored: bool,
    /// True if the text ends at the token limit.
    pub is_truncated: bool,
    /// True if the text differs from the streamed text and replaces it.
    pub replaces_stream: bool,
    /// The reasoning before its calls, if requested and returned.
    pub reasoning: Vec<Reasoning>,
    /// Calls of the provider's own tools.
    pub hosted: Vec<HostedCall>,
}

/// The reason why there is no reply. No variant has the provider's own text (I14).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Too many requests or tokens. A later attempt may succeed.
    #[error("the model provider limits the rate of requests")]
    RateLimited {
        /// The wait that the provider asks for.
        retry_after: Option<Duration>,
    },
    /// The account's quota is used up.
    #[error("the model provider's quota is used up")]
    QuotaExceeded,
    /// The input doesn't fit the model's context window.
    #[error("the conversation is too long for the model")]
    ContextTooLong,
    /// The provider can't read an image or a file in the request.
    #[error("the model provider can't read an image or a file")]
    AttachmentRefused,
    /// The provider's filter refused the input or the output.
    #[error("the model provider's content filter refused")]
    ContentFiltered,
    /// The provider rejected the API key.
    #[error("the model provider refused the credentials")]
    Unauthenticated,
    /// The deployment has no provider of that name.
    #[error("this deployment has no model provider of that name")]
    UnknownProvider,
    /// The provider doesn't know the model.
    #[error("the model provider does not know the model")]
    ModelNotFound,
    /// The provider doesn't continue from the previous response: it is unknown or expired, or nothing is stored.
    /// Includes every refusal of such a request that isn't about something else.
    #[error("the model provider does not go on from the previous response")]
    ChainLost,
    /// Any other refusal of the request.
    #[error("the model provider rejected the request with status {status}")]
    Rejected {
        /// The HTTP status.
        status: u16,
    },
    /// The provider can't be reached, or it failed.
    #[error("the model provider is unavailable")]
    Unavailable {
        /// The wait that the provider asks for.
        retry_after: Option<Duration>,
    },
    /// A timeout, or the turn's deadline.
    #[error("the model did not answer in time")]
    TimedOut,
    /// The reply broke off or doesn't conform to the API.
    #[error("the model provider's reply was malformed or incomplete")]
    Malformed,
    /// The model stopped early, for example at its token limit before any text.
    #[error("the model stopped before its answer was complete")]
    Incomplete,
    /// Two replies in a row without text and calls.
    #[error("the model answered with neither text nor a call")]
    Empty,
}

impl Error {
    /// A provider that can't be reached or failed, without a hint when to retry.
    pub const UNAVAILABLE: Self = Self::Unavailable { retry_after: None };

    /// Returns the wait that the provider asks for.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } | Self::Unavailable { retry_after } => *retry_after,
            _ => None,
        }
    }
}
