//! A turn's public status and its two spellings.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a turn stands: pending once, then one of the others for good (DD-002B).
///
/// On its own it is written as its id, `"pending"`; within a turn as an
/// [`EntityHeader`](super::EntityHeader), `{"Id":"pending","Text":"Pending"}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// The instruction is captured, the answer is not complete.
    Pending,
    /// The answer is stored.
    Completed,
    /// The turn failed for good.
    Failed,
}

impl TurnStatus {
    /// Every status.
    pub const ALL: [Self; 3] = [Self::Pending, Self::Completed, Self::Failed];

    /// The label constant of DD-002B.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    /// The text that people read.
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

/// Why a turn stands where it does. More may be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum StatusReason {
    /// It is worked on.
    Running,
    /// The client's tools are waited for.
    WaitingForTools,
    /// It has its answer.
    Completed,
    /// Its work came to an error: `ErrorCode` says which.
    Failed,
    /// A user cancelled it, or deleted its session.
    Cancelled,
    /// A newer turn took its place while it waited for tools.
    Superseded,
    /// The results of its tools did not come in time.
    ToolDeadline,
    /// Every attempt at it broke off.
    Abandoned,
    /// Its outcome could not be stored.
    NotStored,
}

/// Writes and reads a status as the entity header it is within a turn.
pub(super) mod header {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::TurnStatus;

    /// A turn's status as an entity header (DD-002B).
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
