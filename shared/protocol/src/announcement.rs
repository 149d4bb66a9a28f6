//! What `turn-finalizer` is told through SQS.
//!
//! A message is a hint, never a fact: it may be lost, repeated, late or forged. The finalizer
//! checks everything it says against the table.

use contracts::id::{OrgId, SessionId, TurnId};
use serde::{Deserialize, Serialize};

/// A message on the finalize queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "Kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum FinalizeMessage {
    /// A turn was settled and wants to be finalized.
    #[serde(rename_all = "PascalCase")]
    TurnSettled {
        /// The tenant.
        org: OrgId,
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
        /// The request that settled it, so that logs of both functions can be joined.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        correlation: Option<String>,
    },
    /// Look for overdue turns.
    Sweep,
}
