//! Agent contexts, conversation contexts and modes, and their versions.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::EntityHeader;
use crate::{hash::Fingerprint, timestamp::Timestamp};

/// An agent context, a conversation context or a mode of an org.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct Context {
    /// Id of the context, or key of the mode.
    pub id: String,
    /// Display name.
    pub name: String,
    /// True if the context ships with the service and the org has none under this id.
    pub is_built_in: bool,
    /// Text about its replacement, if it is deprecated. Sessions that have it go on; new ones get a warning.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deprecated: Option<String>,
    /// Number of the version that is live. Absent for a built-in context, and for one that was last written without a
    /// version, which gets one with its next change.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<u32>,
    /// Entity tag, for `If-Match`. Absent for a built-in context.
    #[serde(rename = "ETag", skip_serializing_if = "Option::is_none", default)]
    pub etag: Option<String>,
    /// Time of the last change, if recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_updated_date: Option<Timestamp>,
    /// User who made the last change. Absent if it was made with AWS credentials.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_updated_by: Option<EntityHeader>,
    /// The rollout of another version. Absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rollout: Option<ContextRollout>,
    /// The context as JSON, with its `Kind`. Absent in lists.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub content: Option<Value>,
}

/// The gradual rollout of a version: a percentage of the sessions uses it in place of the live content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct ContextRollout {
    /// Number of the version.
    pub version: u32,
    /// Percentage of the sessions, from 1 to 100.
    pub percent: u8,
}

/// A version of a context. Versions never change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct ContextVersion {
    /// Number of the version, from 1.
    pub version: u32,
    /// True if this version deleted the context.
    pub is_deletion: bool,
    /// Time at which the version was written.
    pub creation_date: Timestamp,
    /// User who wrote it. Absent if it was written with AWS credentials.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub created_by: Option<EntityHeader>,
    /// Number of the version that this one restored. Absent unless it is a rollback.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub restored_version: Option<u32>,
    /// SHA-256 of the content, equal for equal contents. Absent for a deletion.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub content_hash: Option<Fingerprint>,
    /// The context as JSON, with its `Kind`. Absent in lists and for a deletion.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub content: Option<Value>,
}
