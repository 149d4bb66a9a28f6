//! The details of a turn and of a session: write-once facts that a head or a session makes count.

use std::{fmt, str::FromStr};

use crate::caller::User;
use contracts::{
    ErrorCode, Fingerprint, Timestamp, Usage,
    id::UserId,
    read::{AgentSessionActiveFileRef, AgentSessionChunkRef},
};
use serde::{Deserialize, Serialize};

use crate::{
    chain::Upstream,
    cost::Cost,
    id::{SessionKey, TurnKey},
    line::Repeats,
};

/// What is kept of a turn's request: written with the turn's start, never again (DD-002A).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestDetail {
    /// Which turn.
    pub key: TurnKey,
    /// Names the instruction payload (rule 2).
    pub fingerprint: Fingerprint,
    /// Who sent it.
    pub by: User,
    /// Which model of which provider it was to be sent to.
    pub upstream: Upstream,
    /// The head of the instruction (DD-005).
    pub instruction_summary: String,
    /// Whether that is less than all of it; also false of a turn from before this was kept.
    pub instruction_is_cut: bool,
    /// Files that came with it.
    pub active_file_refs: Vec<AgentSessionActiveFileRef>,
    /// What it runs again; none of a turn that a user sent.
    pub repeats: Option<Repeats>,
}

/// What came of a turn: written when it is finalized (DD-002B, DD-002C).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultDetail {
    /// Which turn.
    pub key: TurnKey,
    /// What the session's roll-up and the reader need.
    pub report: Report,
}

/// What an attempt learned, as far as it is kept in the table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Report {
    /// The head of the answer; completed turns only (DD-005).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_summary: Option<String>,
    /// Whether that is less than all of it; also false of a turn from before this was kept.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub answer_is_cut: bool,
    /// The head of what there was of an answer; turns that came to none only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial_answer: Option<Summary>,
    /// The provider's id of the response: of the last one, also where it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// What the request carried that it answers; none of a turn from before this was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carried: Option<Carried>,
    /// The model that was asked, by which the chain is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The model that answered, as it names itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
    /// The provider that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Who was asked before the one that answered, and had no answer: oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fell_back: Vec<FellBack>,
    /// A provider that turned out to keep no chains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keeps_no_chain: Option<String>,
    /// The mode whose instructions the chain was last told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told_mode: Option<String>,
    /// The solution context that the chain was last told, by its text's hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told_solution: Option<Fingerprint>,
    /// When the provider answered, well or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<Timestamp>,
    /// How long the response may be chained from; none for a failed turn, and where nothing was left
    /// with the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain_expires: Option<Timestamp>,
    /// Tokens used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What they cost; none without prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Which of the turn's model calls was the last, where raw payloads were to be kept: they lie under
    /// the writer of the outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_payloads: Option<u32>,
    /// How often models were asked; none of a turn from before this was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_calls: Option<u32>,
    /// How long they took together, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_ms: Option<u64>,
    /// How much of that it was until the first text; none where they wrote none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_text_ms: Option<u64>,
    /// How long the client's tools took together, in milliseconds; none when it ran none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_tool_ms: Option<u64>,
    /// How long the server's tools took together, in milliseconds; none when it ran none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_tool_ms: Option<u64>,
    /// Rounds of tool calls; none when there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_rounds: Option<u32>,
    /// The chunks of indexed sources that it was told (DD-002B).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chunk_refs: Vec<AgentSessionChunkRef>,
    /// Warnings of this turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The code of the error that a turn failed with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<ErrorCode>,
    /// Errors of a failed turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
}

/// The head of a text (DD-005).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Summary {
    /// The head.
    pub text: String,
    /// Whether that is less than all of it.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub is_cut: bool,
}

/// What the last answered model request of a turn carried.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Carried {
    /// The provider's id of the response that it went on from; none where it began a chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_response_id: Option<String>,
}

/// A model that was asked and had no answer, so that another one was asked in its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct FellBack {
    /// The provider's model id.
    pub model: String,
    /// The provider.
    pub provider: String,
    /// What was the matter.
    pub why: Trouble,
}

/// Why a model had no answer, where another one may have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// Its provider limits requests.
    Overload,
    /// Its provider could not be reached, failed, or did not answer in time.
    Outage,
    /// The conversation is too long for it.
    Overflow,
}

impl Trouble {
    /// The word for it, as it is stored.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Overload => "overload",
            Self::Outage => "outage",
            Self::Overflow => "overflow",
        }
    }
}

/// A user who took part in a session (DD-003).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Participant {
    /// Which session.
    pub session: SessionKey,
    /// Who.
    pub user: UserId,
    /// That user's name; none where it isn't at hand: then the one that is stored stays.
    pub name: Option<String>,
    /// That user's own last turn: what that user's list is ordered by.
    pub last_activity: Timestamp,
}

/// What a user says of a turn. It decides nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feedback {
    /// Of which turn.
    pub turn: TurnKey,
    /// Who says it.
    pub by: User,
    /// How good the answer was, from 1 to 5.
    pub rating: u8,
    /// A word for why.
    pub label: Option<String>,
    /// The user's own words.
    pub note: Option<String>,
    /// When that user first said something of the turn.
    pub created: Timestamp,
    /// When this was said.
    pub at: Timestamp,
}

/// The place of a change in a session's mode history: later turns come later, and so do later changes of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModePlace {
    /// The turn's sequence number.
    pub sequence: u64,
    /// Which of the turn's changes, from 0.
    pub number: u8,
}

impl fmt::Display for ModePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.sequence, self.number)
    }
}

impl FromStr for ModePlace {
    type Err = InvalidPlace;

    fn from_str(text: &str) -> Result<Self, InvalidPlace> {
        let (sequence, number) = text.split_once('-').ok_or(InvalidPlace)?;
        let place = Self {
            sequence: sequence.parse().map_err(|_| InvalidPlace)?,
            number: number.parse().map_err(|_| InvalidPlace)?,
        };
        Some(place).filter(|place| place.to_string() == text).ok_or(InvalidPlace)
    }
}

/// The text is no place as this code writes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is no place in a mode history")]
pub struct InvalidPlace;

/// An entry of a session's mode history (AGN-011 §3.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModeChange {
    /// The turn that changed it.
    pub key: TurnKey,
    /// Its place in the history.
    pub place: ModePlace,
    /// The mode before.
    pub previous: String,
    /// The mode from now on.
    pub new: String,
    /// Why, in the model's words.
    pub reason: String,
    /// Whether the model suggested a new branch (AGN-011 §5.6).
    pub branch: bool,
    /// When the tool ran.
    pub at: Timestamp,
    /// Whose turn.
    pub by: UserId,
}

/// A mode that a tool chose during the turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct StagedMode {
    /// The mode's key.
    pub mode: String,
    /// Why, in the model's words.
    pub reason: String,
    /// Whether a new branch was suggested.
    pub branch: bool,
    /// When the tool ran.
    pub at: Timestamp,
}

/// What a finalization needs of the outcome object: the rest of it is the agent's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// What the table keeps of it.
    pub report: Report,
    /// The turn's mode changes in order; the last takes effect when the turn completes (rule 8).
    pub modes: Vec<StagedMode>,
}
