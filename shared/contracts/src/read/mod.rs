//! Responses of the read API: sessions, turns, payloads and reports.
//!
//! These types hold data only. The code that fills them decides what the caller may see. An absent value is an
//! absent member, never null. Deliberately absent: server state (phase, owner, lease), except in [`TurnRecords`].

mod context;
mod cost;
mod export;
mod list;
mod payload;
mod purge;
mod ratings;
mod score;
mod search;
mod session;
mod status;
mod step;
mod turn;
mod turn_feedback;
mod turn_records;
mod usage_report;

use serde::{Deserialize, Serialize};

pub use context::{Context, ContextRollout, ContextVersion};
pub use cost::Cost;
pub use export::{
    ExportEnd, ExportEndFormat, ExportFormat, ExportLine, ExportedPayload, ExportedTurn, ImportedSession,
    PayloadKind, SessionExport, SessionImport,
};
pub use list::ListResponse;
pub use payload::{PayloadAnswer, PayloadLink, PayloadValue};
pub use purge::{
    IndexedSession, PurgeReport, PurgeState, SessionDeletion, UpstreamResponse, UpstreamResponses,
};
pub use ratings::{MeanRating, SessionRatings};
pub use score::Score;
pub use search::{FoundSession, MatchedIn, SearchMark, SearchMatch};
pub use session::{AgentSession, AgentSessionSummary, ForkedFrom, ModeChange, Participant, Visibility};
pub use status::{StatusReason, TurnStatus};
pub use step::{RanBy, StepCall, StepKind, TurnStep};
pub use turn::{AgentSessionActiveFileRef, AgentSessionChunkRef, AgentSessionTurn, AgentSessionTurnSummary};
pub use turn_feedback::TurnFeedback;
pub use turn_records::{SessionRecord, StoredItem, StoredObject, TurnPhase, TurnRecord, TurnRecords};
pub use usage_report::{UsageGroup, UsageGrouping, UsageReport};

/// An id with a display text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct EntityHeader {
    /// The id.
    pub id: String,
    /// The display text.
    pub text: String,
}

impl EntityHeader {
    /// Creates a header from an id and its display text.
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { id: id.into(), text: text.into() }
    }
}
