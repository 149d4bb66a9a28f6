//! Details of a turn and of a session: write-once facts that take effect through a head or a session.

use std::{collections::BTreeMap, fmt, str::FromStr};

use crate::caller::User;
use contracts::{
    ErrorCode, Fingerprint, Timestamp, Usage,
    id::UserId,
    read::{AgentSessionActiveFileRef, AgentSessionChunkRef},
};
use serde::{Deserialize, Serialize};

use crate::{
    ancestry::RerunOf,
    chain::Upstream,
    cost::Cost,
    id::{SessionKey, TurnKey},
    spent::Spent,
    tool_use::ToolUse,
};

/// The details of a turn's request. Written once, with the turn's start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestDetail {
    /// The turn.
    pub key: TurnKey,
    /// The request's fingerprint, which names the instruction payload (rule 2).
    pub fingerprint: Fingerprint,
    /// The user who sent it.
    pub requested_by: User,
    /// The model and provider that it was to be sent to.
    pub upstream: Upstream,
    /// An excerpt of the instruction.
    pub instruction_summary: String,
    /// True if the excerpt is shorter than the instruction. False for turns from before this was recorded.
    pub instruction_summary_truncated: bool,
    /// The files that came with it.
    pub active_file_refs: Vec<AgentSessionActiveFileRef>,
    /// The turn that it reruns, if it is a rerun.
    pub rerun_of: Option<RerunOf>,
    /// The request itself in canonical form, if it is small. Then its object is created from it before the turn becomes
    /// terminal. Absent for requests that are objects from the start.
    pub inline_json: Option<String>,
}

/// The result of a turn. Written when the turn is finalized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultDetail {
    /// The turn.
    pub key: TurnKey,
    /// The facts that the session's roll-up and readers need.
    pub report: Report,
}

/// The part of an attempt's outcome that the table stores.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Report {
    /// An excerpt of the answer. Set for completed turns only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_summary: Option<String>,
    /// True if the excerpt is shorter than the answer. False for turns from before this was recorded.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub answer_summary_truncated: bool,
    /// An excerpt of the partial answer. Set only for turns that did not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial_answer: Option<Excerpt>,
    /// The provider's id of the last response, even if that response failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// The same id of an imported turn. It is shown, but it belongs to the exported session: no request continues from
    /// it, and a purge leaves it alone.
    #[serde(rename = "ImportedId", skip_serializing_if = "Option::is_none")]
    pub imported_response_id: Option<String>,
    /// Facts about the model request behind that response. Absent for turns from before these were recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_request: Option<ModelRequestInfo>,
    /// The requested model, by which the chain is identified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The model that answered, as the response names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_model: Option<String>,
    /// The provider that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The failed attempts with other models before the one that answered, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<FallbackAttempt>,
    /// A provider that turned out to be stateless.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stateless_provider: Option<String>,
    /// The mode whose instructions were last sent in this chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain_mode: Option<String>,
    /// The solution context that was last sent in this chain, as the hash of its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain_solution: Option<Fingerprint>,
    /// The time of the provider's response, successful or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received_at: Option<Timestamp>,
    /// The time until which a turn may continue from the response. Absent for failed turns and if the provider stored
    /// nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain_expires: Option<Timestamp>,
    /// The tokens used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The part of the total tokens that is estimated, because the provider didn't tell it.
    #[serde(skip_serializing_if = "is_zero")]
    pub estimated_tokens: u64,
    /// The tokens of the last model call, which a turn that continues from its response repeats.
    #[serde(skip_serializing_if = "is_zero")]
    pub context_tokens: u64,
    /// The cost of the tokens. Absent without prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// True if some of the tokens belong to another model, which has no price.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cost_is_partial: bool,
    /// The number of the turn's last model call, if raw payloads were to be stored. They are stored under the writer
    /// of the outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_raw_payload: Option<u32>,
    /// The number of model calls. Absent for turns from before this was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_calls: Option<u32>,
    /// The total duration of the model calls, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_ms: Option<u64>,
    /// The part of that duration until the first text, in milliseconds. Absent if the model wrote no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_text_ms: Option<u64>,
    /// The total duration of the client's tools, in milliseconds. Absent if none ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_tool_ms: Option<u64>,
    /// The total duration of the server's tools, in milliseconds. Absent if none ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_tool_ms: Option<u64>,
    /// The calls of connections' tools, by the names of the tools.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, ToolUse>,
    /// The number of rounds of tool calls. Absent if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_rounds: Option<u32>,
    /// The chunks of indexed sources that the model received.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chunk_refs: Vec<AgentSessionChunkRef>,
    /// The warnings of this turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The error code of a failed turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<ErrorCode>,
    /// The errors of a failed turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
}

impl Report {
    /// True if the turn used tokens of a model without a price.
    #[must_use]
    pub fn is_unpriced(&self) -> bool {
        let has_tokens = self.usage.is_some_and(|usage| usage.total_tokens > 0);
        self.cost_is_partial || (has_tokens && self.cost.is_none())
    }

    /// Replaces the usage by what a turn has spent, unless the report says more: a figure that is less is older.
    #[must_use]
    pub fn with_spent(self, spent: &Spent) -> Self {
        let rank = (self.usage.map_or(0, |usage| usage.total_tokens), self.model_calls.unwrap_or_default());
        if rank > (spent.usage.total_tokens, spent.model_calls) || spent.model_calls == 0 {
            return self;
        }
        Self {
            usage: Some(spent.usage),
            estimated_tokens: spent.estimated_tokens,
            model_calls: Some(spent.model_calls),
            cost: spent.cost.clone(),
            cost_is_partial: spent.cost_is_partial,
            model: self.model.or_else(|| spent.model.clone()),
            ..self
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(tokens: &u64) -> bool {
    *tokens == 0
}

/// The beginning of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Excerpt {
    /// The beginning.
    pub text: String,
    /// True if the text continues beyond this excerpt.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub is_truncated: bool,
}

/// Facts about the last model request of a turn that got a response.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ModelRequestInfo {
    /// The provider's id of the response that it continued from. Absent if it started a chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_response_id: Option<String>,
}

/// A model that failed to answer, so that another one was called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct FallbackAttempt {
    /// The provider's model id.
    pub model: String,
    /// The provider.
    pub provider: String,
    /// The reason for the fallback.
    pub reason: FallbackReason,
}

/// The reason for calling another model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FallbackReason {
    /// The provider limited the rate of requests.
    RateLimited,
    /// The provider could not be reached, failed, or did not answer in time.
    Unavailable,
    /// The conversation does not fit into the model's context.
    ContextOverflow,
}

impl FallbackReason {
    /// Returns the reason as it is stored.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::Unavailable => "unavailable",
            Self::ContextOverflow => "context_overflow",
        }
    }
}

/// A user who took a turn in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Participant {
    /// The session.
    pub session: SessionKey,
    /// The user.
    pub user: UserId,
    /// The user's name. If absent, the stored name stays.
    pub name: Option<String>,
    /// The time of the user's own last turn, by which the user's session list is ordered.
    pub last_activity: Timestamp,
}

/// A user's feedback on a turn. No decision depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feedback {
    /// The turn.
    pub turn: TurnKey,
    /// The user who gave it.
    pub by: User,
    /// The rating of the answer, from 1 to 5.
    pub rating: u8,
    /// A label that gives the reason.
    pub label: Option<String>,
    /// A note in the user's own words.
    pub note: Option<String>,
    /// The time of the user's first feedback on the turn.
    pub created: Timestamp,
    /// The time of this feedback.
    pub at: Timestamp,
}

/// The position of a change in a session's mode history. Later turns sort later, and so do later changes within a
/// turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModeChangePosition {
    /// The turn's sequence number.
    pub sequence: u64,
    /// The number of the change within the turn, from 0.
    pub number: u8,
}

impl fmt::Display for ModeChangePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.sequence, self.number)
    }
}

impl FromStr for ModeChangePosition {
    type Err = InvalidModeChangePosition;

    fn from_str(text: &str) -> Result<Self, InvalidModeChangePosition> {
        let (sequence, number) = text.split_once('-').ok_or(InvalidModeChangePosition)?;
        let position = Self {
            sequence: sequence.parse().map_err(|_| InvalidModeChangePosition)?,
            number: number.parse().map_err(|_| InvalidModeChangePosition)?,
        };
        Some(position).filter(|position| position.to_string() == text).ok_or(InvalidModeChangePosition)
    }
}

/// Error for a text that is not a position as [`ModeChangePosition`] writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a position in a mode history; expected `SEQUENCE-NUMBER`")]
pub struct InvalidModeChangePosition;

/// An entry in a session's mode history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModeChange {
    /// The turn that changed it.
    pub key: TurnKey,
    /// Its position in the history.
    pub position: ModeChangePosition,
    /// The mode before the change.
    pub previous: String,
    /// The mode after the change.
    pub new: String,
    /// The reason, in the model's words.
    pub reason: String,
    /// True if the model suggested a new branch.
    pub branch: bool,
    /// The time at which the tool ran.
    pub at: Timestamp,
    /// The user whose turn it was.
    pub by: UserId,
}

/// A mode change that a tool staged during the turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct StagedMode {
    /// The mode's key.
    pub mode: String,
    /// The reason, in the model's words.
    pub reason: String,
    /// True if the model suggested a new branch.
    pub branch: bool,
    /// The time at which the tool ran.
    pub at: Timestamp,
}

/// The part of an outcome object that a finalization needs. The agent alone reads the rest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutcomeSummary {
    /// The part that the table stores.
    pub report: Report,
    /// The turn's staged mode changes, in order. The last one takes effect when the turn completes (rule 8).
    pub modes: Vec<StagedMode>,
}
