//! The stored state of a turn, for operators.

use serde::{Deserialize, Serialize};

use super::TurnStatus;
use crate::{
    id::{SessionId, TurnId, UserId},
    timestamp::Timestamp,
};

/// The stored state of a turn, without anything that a user or a model wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct TurnRecords {
    /// The session.
    pub session: SessionRecord,
    /// The turn.
    pub turn: TurnRecord,
    /// The turn's database items.
    pub items: Vec<StoredItem>,
    /// The turn's objects.
    pub objects: Vec<StoredObject>,
    /// True if the turn has more items or objects than are listed.
    pub is_truncated: bool,
}

/// The part of a session's state that its turns depend on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct SessionRecord {
    /// Id of the session.
    pub id: SessionId,
    /// Revision, which each write of the session increments.
    pub revision: u64,
    /// Number of turns.
    pub turn_count: u64,
    /// Turn that is not finalized yet. Absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub open_turn_id: Option<TurnId>,
    /// Time of the deletion. Absent unless the session is deleted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deleted_date: Option<Timestamp>,
    /// Time of the quarantine. Absent unless the session is quarantined.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub quarantined_date: Option<Timestamp>,
    /// Operator who quarantined the session. Absent unless it is quarantined.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub quarantined_by_user_id: Option<UserId>,
}

/// Phase of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TurnPhase {
    /// An attempt works on the turn while its lease lasts.
    Running,
    /// The turn waits for the results of client tools.
    AwaitingTools,
    /// The outcome is decided, but the session doesn't show it yet.
    Settled,
    /// The turn never changes again.
    Finalized,
}

impl TurnPhase {
    /// The phase's wire name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::AwaitingTools => "awaiting_tools",
            Self::Settled => "settled",
            Self::Finalized => "finalized",
        }
    }
}

/// The head of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct TurnRecord {
    /// Id of the turn.
    pub id: TurnId,
    /// Sequence number in the session, from 1.
    pub sequence_number: u64,
    /// Phase.
    pub phase: TurnPhase,
    /// Status that readers see.
    pub status: TurnStatus,
    /// User who sent the turn.
    pub requested_by_user_id: UserId,
    /// Time at which the turn was accepted.
    pub creation_date: Timestamp,
    /// Attempt that owns the turn, or owned it last.
    pub attempt_id: String,
    /// Attempts of the current stage, oldest first. Empty unless the turn is running.
    pub attempt_ids: Vec<String>,
    /// Number of takeovers from attempts that died.
    pub takeovers: u32,
    /// Number of earlier waits for tool results.
    pub round: u32,
    /// End of the owner's lease. Absent unless the turn is running.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lease_end_date: Option<Timestamp>,
    /// Time at which the turn fails without tool results. Absent unless it waits for them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool_deadline_date: Option<Timestamp>,
    /// Time at which the sweep acts on the turn. Absent once it is finalized.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub due_date: Option<Timestamp>,
    /// Attempt that last suspended the turn. Absent without a client tool call.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub suspended_by_attempt_id: Option<String>,
    /// Attempt whose object holds the outcome. Absent if the turn is open, or was ended from outside.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub outcome_attempt_id: Option<String>,
    /// Time at which the outcome was decided. Absent while the turn is open.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub settled_date: Option<Timestamp>,
}

/// A database item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct StoredItem {
    /// Sort key within the session.
    pub key: String,
    /// Schema version that the item was written with.
    pub version: u32,
    /// Approximate size in bytes, as DynamoDB counts it.
    pub size_bytes: u64,
}

/// An object of the payload bucket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct StoredObject {
    /// Key below the turn's prefix.
    pub key: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// True if the turn refers to the object, or work that continues may.
    pub is_referenced: bool,
}
