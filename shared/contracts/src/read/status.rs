//! Public status of a turn and its two wire forms.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Status of a turn: `pending` until it ends, then `completed` or `failed` for good.
///
/// On its own it is written as its id, `"pending"`. Within a turn it is an entity header,
/// `{"Id":"pending","Text":"Pending"}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// The turn is accepted and has no answer yet.
    Pending,
    /// The turn has its answer.
    Completed,
    /// The turn failed for good.
    Failed,
}

impl TurnStatus {
    /// Every status.
    pub const ALL: [Self; 3] = [Self::Pending, Self::Completed, Self::Failed];

    /// The id of the status, as it appears on the wire.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    /// The display text.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Completed => "Completed",
            Self::Failed => "Failed",
        }
    }
}

impl fmt::Display for TurnStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// Reason for a turn's status. More values may be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum StatusReason {
    /// An attempt is running the turn.
    Running,
    /// The turn waits for the results of client tools.
    WaitingForTools,
    /// The turn waits for a person to approve a call of a tool.
    WaitingForApproval,
    /// The turn has its answer.
    Completed,
    /// The turn ended with an error. See `ErrorCode`.
    Failed,
    /// The next model call would have exceeded a budget of the org.
    OverBudget,
    /// A user cancelled the turn or deleted its session.
    Cancelled,
    /// A newer turn superseded it while it waited for tools.
    Superseded,
    /// The results of client tools did not arrive in time.
    ToolDeadline,
    /// Every attempt at the turn ended unexpectedly, or an operator abandoned it.
    Abandoned,
    /// The turn's outcome could not be stored.
    NotStored,
}

/// Serializes a status as an entity header, its form within a turn.
pub(super) mod header {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::TurnStatus;

    /// Status of a turn with its display text.
    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
    #[serde(rename_all = "PascalCase")]
    pub(crate) struct TurnStatusHeader {
        id: TurnStatus,
        text: String,
    }

    pub(crate) fn serialize<S: Serializer>(status: &TurnStatus, to: S) -> Result<S::Ok, S::Error> {
        TurnStatusHeader { id: *status, text: status.text().to_owned() }.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<TurnStatus, D::Error> {
        Ok(TurnStatusHeader::deserialize(from)?.id)
    }
}
