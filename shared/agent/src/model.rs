//! The port to the language model: one reply per call.
//!
//! [`Request`] is AGN-003 §2 as our rulings have it: what the orchestrator knows, not how a
//! provider spells it. The adapter in `llm` owns the wire, the retries and the timeouts.

use std::{future::Future, time::Duration};

use bytes::Bytes;
use contracts::{ContentHash, Usage, request::UserTurn, response::ToolOutcome};
use protocol::turn::Turn;
use serde::{Deserialize, Serialize};

use crate::settings::Settings;

/// A language model behind a Responses API.
pub trait Model: Send + Sync {
    /// Asks for one reply. What becomes known on the way, whether a reply comes or not, goes to `observer`.
    ///
    /// Dropping the future ends the generation upstream. Nothing outlasts `deadline`.
    fn reply(
        &self,
        request: &Request,
        deadline: Duration,
        observer: &mut Observer<'_>,
    ) -> impl Future<Output = Result<Reply, Error>> + Send;
}

/// What one model call lets through while it lasts. It outlives the call: what a reply that failed or
/// broke off had cost is told all the same.
pub struct Observer<'a> {
    /// Receives the text as it is written; the reply holds all of it.
    pub deltas: &'a mut (dyn FnMut(&str) + Send),
    /// Is told of a pause before the provider is asked again, and of its end.
    pub pauses: Option<&'a mut (dyn FnMut(Option<Duration>) + Send)>,
    /// Tokens used, when the provider tells.
    pub usage: Option<Usage>,
    /// Whether anything of an output was there.
    pub has_output: bool,
    /// The provider's id of a reply that did not come to its end, when the provider told one.
    pub failed_id: Option<String>,
    /// What went over the wire, filled in where it is wanted: where it is there to be filled.
    pub raw: Option<Raw>,
}

/// What went over the wire in one model call, bounded in size. Never a header, so never a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Raw {
    /// The request's body as it was sent; empty when nothing was.
    pub request: Bytes,
    /// The response as the stream's end told it, or what there was instead; empty when nothing came.
    pub response: Bytes,
}

impl<'a> Observer<'a> {
    /// Hands text on to `deltas` and keeps nothing of the wire.
    #[must_use]
    pub fn of(deltas: &'a mut (dyn FnMut(&str) + Send)) -> Self {
        Self { deltas, pauses: None, usage: None, has_output: false, failed_id: None, raw: None }
    }

    /// Tells `pauses` of pauses.
    #[must_use]
    pub fn telling_pauses(self, pauses: &'a mut (dyn FnMut(Option<Duration>) + Send)) -> Self {
        Self { pauses: Some(pauses), ..self }
    }

    /// The provider is asked again after a pause, or now.
    pub fn paused(&mut self, pause: Option<Duration>) {
        if let Some(pauses) = &mut self.pauses {
            pauses(pause);
        }
    }

    /// Adds what a reply used, as far as the provider told it: a call may take more than one.
    pub fn spent(&mut self, usage: Option<Usage>) {
        self.usage = match (self.usage, usage) {
            (Some(before), Some(now)) => Some(before.plus(now)),
            (before, now) => before.or(now),
        };
    }

    /// The same, and keeps what goes over the wire if `wanted`.
    #[must_use]
    pub fn keeping_raw(self, wanted: bool) -> Self {
        Self { raw: wanted.then(Raw::default), ..self }
    }
}

impl std::fmt::Debug for Observer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Observer").field("usage", &self.usage).finish_non_exhaustive()
    }
}

/// One model call (AGN-003 §2, §3).
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The provider, by the name that the deployment gave it; none: the default.
    pub provider: Option<String>,
    /// The provider's model id.
    pub model: String,
    /// How it is asked.
    pub settings: Settings,
    /// Who asks, as far as the provider may know.
    pub identifiers: Option<Identifiers>,
    /// Whether the provider may keep the reply, to chain from (`Chain: local`).
    pub store: bool,
    /// Where the conversation stands upstream.
    pub chain: Chain,
    /// What this call says.
    pub message: Message,
    /// The turn's tools, sent on every request.
    pub tools: Vec<Tool>,
    /// A tool the model must call (AGN-003 §6.2).
    pub tool_choice: Option<String>,
    /// Whether the reply's reasoning is wanted, encrypted, so that it can be told again where nothing is
    /// stored.
    pub reasoning_wanted: bool,
}

/// What one model call says: answers to calls, then one user message (AGN-003 §5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Answers to the previous reply's calls, in the model's order.
    pub tool_outputs: Vec<ToolOutput>,
    /// The mode's key, for `[MODE: …]` (AGN-003 §5.1).
    pub mode: String,
    /// What the user message says under `[INSTRUCTION]`.
    pub instruction: Instruction,
    /// A finished block about earlier turns that are not told: what they were told of stands in it alone.
    pub earlier_block: Option<String>,
    /// A finished `[CONTEXT]` block (AGN-002).
    pub context_block: Option<String>,
    /// A finished block of the active files' text (AGN-003 §5).
    pub files_block: Option<String>,
    /// Files and images that go as they are (AGN-003 §5).
    pub attachments: Vec<Attachment>,
    /// What changed since the model was last told (ruling: system text on a chained request).
    pub update: Option<String>,
}

impl Message {
    /// A message of this mode that brings tool results, and none yet.
    #[must_use]
    pub fn in_mode(mode: &str) -> Self {
        Self {
            tool_outputs: Vec::new(),
            mode: mode.to_owned(),
            instruction: Instruction::ToolResults,
            earlier_block: None,
            context_block: None,
            files_block: None,
            attachments: Vec::new(),
            update: None,
        }
    }
}

impl Request {
    /// The response that it goes on from; none where it begins a chain.
    #[must_use]
    pub fn previous_response_id(&self) -> Option<&str> {
        match &self.chain {
            Chain::Initial { .. } => None,
            Chain::Continues { previous_response_id, .. } => Some(previous_response_id),
        }
    }
}

/// What tells one session and one user from another, and nothing else about them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identifiers {
    /// The session: its requests share their beginning, so they belong to one cache (`prompt_cache_key`).
    pub session: String,
    /// The user, for a provider that has to stop misuse (`safety_identifier`).
    pub user: String,
}

impl Identifiers {
    /// Hashes: a provider learns that two requests are of one session or one user, not whose they are.
    #[must_use]
    pub fn of(turn: &Turn) -> Self {
        let org = &turn.key.session.org;
        let hash = |of: &str| ContentHash::of_bytes(format!("{org}\n{of}").as_bytes()).to_string();
        Self { session: hash(turn.key.session.session.as_str()), user: hash(turn.requested_by.as_str()) }
    }
}

/// Initial or chained (AGN-003 §3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chain {
    /// The first request of a chain: carries the system message (AGN-003 §4).
    Initial {
        /// The base system prompt.
        system: String,
        /// What else the system message says, in order; blanks are omitted.
        parts: Vec<String>,
        /// The conversation so far, where the provider can't be asked to remember it.
        told: Vec<Told>,
    },
    /// Goes on from a stored response: no system message (AGN-003 §4.4).
    Continues {
        /// `previous_response_id`.
        previous_response_id: String,
    },
}

/// A piece of the conversation so far, as it is told again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// What a request said.
    Said(Message),
    /// What the model replied.
    Replied(Vec<Item>),
}

/// A piece of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// What it says.
    Text(String),
    /// How it came about.
    Reasoning(Reasoning),
    /// What a tool of the provider's did on the way.
    Hosted(HostedCall),
    /// What it asks for.
    Call(FunctionCall),
}

/// What a tool of the provider's did on the way to a model's calls, as the provider told it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct HostedCall {
    /// How many of the reply's calls stand before it.
    pub calls_before: usize,
    /// How many of its pieces of reasoning do.
    pub reasoning_before: usize,
    /// The item.
    pub item: serde_json::Value,
}

impl HostedCall {
    /// About how many bytes it has.
    #[must_use]
    pub fn size(&self) -> usize {
        self.item.to_string().len()
    }
}

/// How a model came to its calls, encrypted: its provider alone can read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Reasoning {
    /// How many of the reply's calls stand before it.
    pub calls_before: usize,
    /// The provider's id of it.
    pub id: String,
    /// What the provider tells of it in words, as it came.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub summary: Vec<serde_json::Value>,
    /// The reasoning itself.
    pub encrypted: String,
}

impl Reasoning {
    /// About how many bytes it has.
    #[must_use]
    pub fn size(&self) -> usize {
        let summary: usize = self.summary.iter().map(|part| part.to_string().len()).sum();
        self.id.len() + self.encrypted.len() + summary
    }
}

/// A file that the model reads itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attachment {
    /// An image of a kind that the API takes (`input_image`).
    Image {
        /// Its media type.
        media_type: String,
        /// Its bytes.
        bytes: Bytes,
    },
    /// A document of a kind that the API takes (`input_file`).
    File {
        /// Its name, which tells the model what it reads.
        name: String,
        /// Its media type.
        media_type: String,
        /// Its bytes.
        bytes: Bytes,
    },
}

/// What stands under `[INSTRUCTION]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instruction {
    /// The user's own words.
    User(String),
    /// The user sent files or images alone (AGN-034 §4.1).
    FilesAlone,
    /// The turn goes on from tool results.
    ToolResults,
}

impl Instruction {
    /// What a user's request says.
    #[must_use]
    pub fn of(request: &UserTurn) -> Self {
        request.instruction.clone().map_or(Self::FilesAlone, Self::User)
    }
}

/// A tool the model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON schema of its arguments.
    pub parameters: serde_json::Value,
    /// Whether the provider must hold the model to the schema.
    pub strict: bool,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// The call that is answered.
    pub call: FunctionCall,
    /// Result or error.
    pub outcome: ToolOutcome,
}

/// A call the model asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionCall {
    /// The provider's id of the call.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// Its arguments, a JSON text as the model wrote it.
    pub arguments: String,
}

/// One whole reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The provider's id of the response, to chain from.
    pub response_id: String,
    /// The model that answered, as the provider names it.
    pub model: String,
    /// The text, segments joined by a blank line; a refusal is text too.
    pub text: String,
    /// Function calls, in the model's order.
    pub calls: Vec<FunctionCall>,
    /// Whether the provider has the reply to go on from, as far as it tells: not when nothing was to be
    /// stored, or when it says that it stored nothing or did not go on from the response that it was asked to.
    pub kept: bool,
    /// Whether the text stops where the tokens ran out.
    pub cut_short: bool,
    /// Whether the text is not what was handed on while it was written: then it takes that one's place.
    pub restated: bool,
    /// How it came to them, where that was wanted and the provider tells.
    pub reasoning: Vec<Reasoning>,
    /// What the provider's own tools did on the way.
    pub hosted: Vec<HostedCall>,
}

/// Why there is no reply. No variant carries the provider's own words (I14).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Too many requests or tokens; worth another try later.
    #[error("the model provider limits the rate of requests")]
    RateLimited {
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// The account has no budget left.
    #[error("the model provider's quota is used up")]
    QuotaExceeded,
    /// The input does not fit the model.
    #[error("the conversation is too long for the model")]
    ContextTooLong,
    /// The provider can't read an image or a file that it was sent.
    #[error("the model provider can't read an image or a file")]
    AttachmentRefused,
    /// The provider's filter refused input or output.
    #[error("the model provider's content filter refused")]
    ContentFiltered,
    /// The API key was refused.
    #[error("the model provider refused the credentials")]
    Unauthenticated,
    /// The deployment has no provider of that name.
    #[error("this deployment has no model provider of that name")]
    UnknownProvider,
    /// The provider does not know the model.
    #[error("the model provider does not know the model")]
    ModelNotFound,
    /// The request can't go on from the previous response: it is unknown or expired upstream, or the provider
    /// keeps none. Any refusal of a request that goes on from one counts, unless it is about something else.
    #[error("the model provider does not go on from the previous response")]
    ChainLost,
    /// Any other refusal of the request itself.
    #[error("the model provider rejected the request with status {status}")]
    Rejected {
        /// The HTTP status.
        status: u16,
    },
    /// The provider could not be reached or failed.
    #[error("the model provider is unavailable")]
    Unavailable {
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// A timeout or the turn's deadline.
    #[error("the model did not answer in time")]
    TimedOut,
    /// The reply broke off or is not what the API promises.
    #[error("the model provider's reply was malformed or incomplete")]
    Malformed,
    /// The model stopped early, for example at its token limit before it wrote any text.
    #[error("the model stopped before its answer was complete")]
    Incomplete,
    /// A reply without text or a call, twice.
    #[error("the model answered with neither text nor a call")]
    Empty,
}

impl Error {
    /// A provider that could not be reached or failed, and said nothing of when to come again.
    pub const UNAVAILABLE: Self = Self::Unavailable { retry_after: None };

    /// How long the provider asks to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } | Self::Unavailable { retry_after } => *retry_after,
            _ => None,
        }
    }
}
