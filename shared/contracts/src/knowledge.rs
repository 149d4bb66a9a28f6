//! Documents for the agents of an org.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{id::AgentContextId, read::EntityHeader, request::KnowledgeAttribute, timestamp::Timestamp};

/// A document for the agents of an org.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct KnowledgeDocument {
    /// Id of the document. It follows from the name.
    pub id: String,
    /// Name of the document, unique in the org.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 of the content.
    pub sha256: String,
    /// Status of its indexing.
    pub status: KnowledgeStatus,
    /// Reason for the status: what failed, or what is tried again. Absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status_reason: Option<String>,
    /// Number of chunks in the index. Absent unless it is ready.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub chunks: Option<u32>,
    /// Attributes that conditions of a `RagScope` may name.
    pub attributes: Vec<KnowledgeAttribute>,
    /// Agents whose turns may have the document. Empty: every agent of the org.
    pub agent_context_ids: Vec<AgentContextId>,
    /// Time of the upload.
    pub creation_date: Timestamp,
    /// Time of the last change of the status.
    pub last_updated_date: Timestamp,
    /// User who uploaded it.
    pub uploaded_by: EntityHeader,
}

/// Status of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum KnowledgeStatus {
    /// It waits to be indexed.
    Pending,
    /// It is being indexed.
    Indexing,
    /// Turns find it.
    Ready,
    /// It can't be indexed. `StatusReason` says why.
    Failed,
    /// It is being deleted.
    Deleting,
}

impl KnowledgeStatus {
    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Indexing => "indexing",
            Self::Ready => "ready",
            Self::Failed => "failed",
            Self::Deleting => "deleting",
        }
    }

    /// True if the status changes without another request.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        matches!(self, Self::Pending | Self::Indexing | Self::Deleting)
    }
}

impl fmt::Display for KnowledgeStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
