//! What the purge of a session came to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::AgentSessionSummary;
use crate::{
    hash::Fingerprint,
    id::{SessionId, UserId},
    timestamp::Timestamp,
};

/// What the purge of a session came to so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct PurgeReport {
    /// The session.
    pub id: SessionId,
    /// How far it is.
    pub state: PurgeState,
    /// Who deleted the session.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deleted_by_user_id: Option<UserId>,
    /// When the purge began.
    pub started_date: Timestamp,
    /// When it was done; absent while it runs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub done_date: Option<Timestamp>,
    /// How many items of the table went, by kind.
    pub items: BTreeMap<String, u64>,
    /// How many versions of objects went, by kind.
    pub objects: BTreeMap<String, u64>,
    /// How many bytes those had.
    pub object_bytes: u64,
    /// What model providers kept of the session's turns.
    pub upstream_responses: UpstreamResponses,
    /// Whether the session is gone from the index that searches ask; absent where there is none, and before it was asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub search_index: Option<IndexedSession>,
    /// The hash over the keys of all that went, each with the hash before; absent while nothing did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub manifest_hash: Option<Fingerprint>,
}

/// What became of the responses that model providers kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct UpstreamResponses {
    /// How many were removed, or were gone.
    pub removed: u64,
    /// How many are still to be removed.
    pub pending: u64,
    /// How many their provider did not remove, however often it was asked: they expire there.
    pub not_removed: u64,
    /// The first of those; for operators.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    pub not_removed_ids: Vec<UpstreamResponse>,
}

/// A response that a model provider keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct UpstreamResponse {
    /// Which provider: its host, after its name where the deployment gave it one; absent of old ones.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub provider: Option<String>,
    /// The provider's id of the response.
    pub response_id: String,
}

/// What became of a purged session in the index that searches ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum IndexedSession {
    /// It is gone.
    Removed,
    /// The index could not be reached yet, and is asked again.
    Pending,
    /// The index did not remove it, however often it was asked. Nothing shows it there, and it holds no text.
    NotRemoved,
}

/// How far a purge is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum PurgeState {
    /// Something may be left.
    Running,
    /// Nothing is left.
    Done,
}

/// What a deletion came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum SessionDeletion {
    /// The session is kept for a while.
    Kept(AgentSessionSummary),
    /// The session is purged.
    Purged(PurgeReport),
}
