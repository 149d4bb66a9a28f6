//! Reports of session purges.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::AgentSessionSummary;
use crate::{
    hash::Fingerprint,
    id::{SessionId, UserId},
    timestamp::Timestamp,
};

/// Progress of a session's purge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct PurgeReport {
    /// Id of the session.
    pub id: SessionId,
    /// State of the purge.
    pub state: PurgeState,
    /// User who deleted the session.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deleted_by_user_id: Option<UserId>,
    /// Start of the purge.
    pub started_date: Timestamp,
    /// End of the purge. Absent while it runs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub done_date: Option<Timestamp>,
    /// Number of deleted database items, by kind.
    pub items: BTreeMap<String, u64>,
    /// Number of deleted object versions, by kind.
    pub objects: BTreeMap<String, u64>,
    /// Total size of the deleted object versions, in bytes.
    pub object_bytes: u64,
    /// Responses of the session's turns that model providers store.
    pub upstream_responses: UpstreamResponses,
    /// State of the session in the search index. Absent if there is no index, or before the deletion was requested.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub search_index: Option<IndexedSession>,
    /// Chained hash over the keys of everything deleted. Absent while nothing is deleted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub manifest_hash: Option<Fingerprint>,
}

/// Deletion of the responses that model providers store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct UpstreamResponses {
    /// Number of responses that were deleted or no longer existed.
    pub removed: u64,
    /// Number of responses that are still to be deleted.
    pub pending: u64,
    /// Number of responses that the provider did not delete after all retries. They expire at the provider.
    pub not_removed: u64,
    /// The first of the responses that were not deleted. Visible to operators only.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    pub not_removed_ids: Vec<UpstreamResponse>,
}

/// A response that a model provider stores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct UpstreamResponse {
    /// Provider: its name, if the deployment gives it one, and its host. Absent for old responses.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub provider: Option<String>,
    /// The provider's id of the response.
    pub response_id: String,
}

/// State of a purged session in the search index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum IndexedSession {
    /// The session is deleted from the index.
    Removed,
    /// The index can't be reached. The deletion is retried.
    Pending,
    /// The index did not delete the session after all retries. Its entry holds no text and is never shown.
    NotRemoved,
}

/// State of a purge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum PurgeState {
    /// Data may remain.
    Running,
    /// All data is deleted.
    Done,
}

/// Result of a deletion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum SessionDeletion {
    /// The session is deleted but can be restored until `KeptUntilDate`.
    Retained(AgentSessionSummary),
    /// The session is being purged.
    Purged(PurgeReport),
}
