//! Messages on the finalize queue and the webhook queue, which `turn-finalizer` consumes through SQS, and on the turn queue,
//! which `execute` consumes.
//!
//! A message is a hint, never a fact: it may be lost, repeated, delayed or forged. The functions check every claim against
//! the table.

use contracts::{
    Fingerprint,
    id::{OrgId, SessionId, TurnId, WebhookId},
};
use serde::{Deserialize, Deserializer, Serialize, de::IgnoredAny};

use crate::{
    correlation::CorrelationId,
    id::{SessionKey, TurnKey},
    webhook::LaneKey,
};

/// The message attribute with an operator's reason for a redrive. An attribute and no member of the body, because older
/// finalizers refuse unknown members.
pub const REDRIVE_REASON: &str = "RedriveReason";

/// Returns the message group of an org: SQS delivers the messages of a quiet group before those of a busy one. A hash, since
/// ids of orgs have characters that SQS refuses in a group.
#[must_use]
pub fn group_of(org: &OrgId) -> String {
    Fingerprint::hash_bytes(org.as_str().as_bytes()).to_string()
}

/// A message on the finalize queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "Kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum FinalizeMessage {
    /// A turn was settled and needs to be finalized.
    #[serde(rename_all = "PascalCase")]
    TurnSettled {
        /// The tenant.
        org: OrgId,
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
        /// Correlation id of the request that settled it, which joins the logs of both functions.
        #[serde(
            skip_serializing_if = "Option::is_none",
            default,
            deserialize_with = "deserialize_optional_correlation"
        )]
        correlation: Option<CorrelationId>,
    },
    /// A session's purge started or continues.
    #[serde(rename_all = "PascalCase")]
    SessionPurge {
        /// The tenant.
        org: OrgId,
        /// The session.
        session: SessionId,
    },
    /// A session's indexed fields changed. Without a session, the index is backfilled with all sessions of the org.
    #[serde(rename_all = "PascalCase")]
    SessionIndex {
        /// The tenant.
        org: OrgId,
        /// The session.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        session: Option<SessionId>,
    },
    /// Events wait in the lane of a session for a webhook. On the webhook queue.
    #[serde(rename_all = "PascalCase")]
    WebhookLane {
        /// The tenant.
        org: OrgId,
        /// The session.
        session: SessionId,
        /// The webhook.
        webhook: WebhookId,
    },
    /// Run the sweep: look for overdue turns and for sessions whose retention has ended.
    Sweep,
}

impl FinalizeMessage {
    /// Returns the message of a lane.
    #[must_use]
    pub fn of_lane(lane: &LaneKey) -> Self {
        let SessionKey { org, session } = lane.session.clone();
        Self::WebhookLane { org, session, webhook: lane.webhook.clone() }
    }

    /// Returns the message group, one for each org, and one for each webhook. A sweep has none.
    #[must_use]
    pub fn group(&self) -> Option<String> {
        match self {
            Self::TurnSettled { org, .. }
            | Self::SessionPurge { org, .. }
            | Self::SessionIndex { org, .. } => Some(group_of(org)),
            Self::WebhookLane { org, webhook, .. } => {
                let both = format!("{}\n{webhook}", org.as_str());
                Some(Fingerprint::hash_bytes(both.as_bytes()).to_string())
            }
            Self::Sweep => None,
        }
    }
}

/// A message on the turn queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "Kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum TurnMessage {
    /// A turn can continue, and no client waits for it.
    #[serde(rename_all = "PascalCase")]
    ContinueTurn {
        /// The tenant.
        org: OrgId,
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
    },
}

impl TurnMessage {
    /// Returns the message that has a turn continued.
    #[must_use]
    pub fn continue_turn(key: &TurnKey) -> Self {
        let SessionKey { org, session } = key.session.clone();
        Self::ContinueTurn { org, session, turn: key.turn.clone() }
    }

    /// Returns the message group, one for each org.
    #[must_use]
    pub fn group(&self) -> String {
        let Self::ContinueTurn { org, .. } = self;
        group_of(org)
    }
}

/// Reads a correlation id, and maps any invalid value to `None`. The id only serves the logs, so an invalid one must
/// not keep a turn from being finalized.
fn deserialize_optional_correlation<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<CorrelationId>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Value {
        Text(String),
        Other(IgnoredAny),
    }
    Ok(match Value::deserialize(deserializer)? {
        Value::Text(text) => CorrelationId::new(text).ok(),
        Value::Other(_) => None,
    })
}
