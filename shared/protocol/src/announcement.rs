//! What `turn-finalizer` is told through SQS.
//!
//! A message is a hint, never a fact: it may be lost, repeated, late or forged. The finalizer
//! checks everything it says against the table.

use contracts::id::{OrgId, SessionId, TurnId};
use serde::{Deserialize, Deserializer, Serialize, de::IgnoredAny};

use crate::correlation::CorrelationId;

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
        #[serde(skip_serializing_if = "Option::is_none", default, deserialize_with = "if_it_is_one")]
        correlation: Option<CorrelationId>,
    },
    /// A session's purge began, or goes on.
    #[serde(rename_all = "PascalCase")]
    SessionPurge {
        /// The tenant.
        org: OrgId,
        /// The session.
        session: SessionId,
    },
    /// What a session is found by has changed; without a session, the index is to be filled with those of the org.
    #[serde(rename_all = "PascalCase")]
    SessionIndex {
        /// The tenant.
        org: OrgId,
        /// The session.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        session: Option<SessionId>,
    },
    /// Look for overdue turns, and for sessions whose retention is over.
    Sweep,
}

/// Reads a correlation id; anything else is none. It is for logs alone, and no turn waits for its finalizer
/// because of one.
fn if_it_is_one<'de, D: Deserializer<'de>>(given: D) -> Result<Option<CorrelationId>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        Text(String),
        Other(IgnoredAny),
    }
    Ok(match Given::deserialize(given)? {
        Given::Text(text) => CorrelationId::new(text).ok(),
        Given::Other(_) => None,
    })
}
