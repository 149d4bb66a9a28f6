//! The documents of an org: contexts and modes with their versions, and settings.

use std::{future::Future, sync::Arc};

use agent::context::{ContextId, ContextKind, Rollout};
use contracts::{Fingerprint, Timestamp, id::OrgId, request::OrgSettings};
use protocol::caller::User;

use super::errors::{Unavailable, WriteError};

/// A context as it is stored: what turns read, with its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextHead {
    /// The content as JSON, without `Kind`. `None` once the context is deleted.
    pub content: Option<String>,
    /// The number of the version that is live. `None` if it was written without a version.
    pub version: Option<u32>,
    /// The last change. `None` if it was written without a version.
    pub change: Option<Authorship>,
    /// The rollout of another version. Every change of the content ends it.
    pub rollout: Option<Rollout>,
}

/// The author and the time of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorship {
    /// The time.
    pub at: Timestamp,
    /// The user. `None` for a change with AWS credentials.
    pub by: Option<User>,
}

/// A version of a context. Written once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredVersion {
    /// The number, from 1.
    pub number: u32,
    /// The author and the time.
    pub change: Authorship,
    /// The version that this one restored.
    pub restored: Option<u32>,
    /// The hash of the content. `None` for a deletion.
    pub hash: Option<Fingerprint>,
    /// The content as JSON, without `Kind`. `None` for a deletion, and in lists.
    pub content: Option<String>,
}

/// A change of a context: everything or nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextChange {
    /// The head that must still be stored. `None` if there must be none.
    pub before: Option<ContextHead>,
    /// The new head.
    pub after: ContextHead,
    /// The new versions, which must not exist yet.
    pub versions: Vec<StoredVersion>,
}

/// Reads contexts with their versions. All reads of single items are consistent.
pub trait ContextReads: Send + Sync {
    /// Returns the head of a context, deleted or not.
    fn context_head(
        &self,
        org: &OrgId,
        id: &ContextId,
    ) -> impl Future<Output = Result<Option<ContextHead>, Unavailable>> + Send;
    /// Returns the contexts of a kind after this id that aren't deleted, sorted by id, at most `limit`. Reads
    /// consistently.
    fn context_heads(
        &self,
        org: &OrgId,
        kind: ContextKind,
        after: Option<&ContextId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(ContextId, ContextHead)>, Unavailable>> + Send;
    /// Returns a version of a context with its content.
    fn context_version(
        &self,
        org: &OrgId,
        id: &ContextId,
        number: u32,
    ) -> impl Future<Output = Result<Option<StoredVersion>, Unavailable>> + Send;
    /// Returns the versions of a context before this number without their contents, newest first, at most `limit`.
    /// Reads consistently.
    fn context_versions(
        &self,
        org: &OrgId,
        id: &ContextId,
        before: Option<u32>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<StoredVersion>, Unavailable>> + Send;
}

/// Writes contexts with their versions.
pub trait ContextStore: ContextReads {
    /// Applies a change under its conditions. Turns see it within a minute.
    fn change_context(
        &self,
        org: &OrgId,
        id: &ContextId,
        change: &ContextChange,
    ) -> impl Future<Output = Result<(), WriteError>> + Send;
}

/// Settings as they are stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredOrgSettings {
    /// Number of the last change; 0 before the first.
    pub revision: u64,
    /// The settings, without the org's id.
    pub settings: OrgSettings,
}

/// Reads settings of orgs.
pub trait OrgSettingsReads: Send + Sync {
    /// Returns the settings of an org as they were a minute ago or later. An org without any has the default.
    fn org_settings(&self, org: &OrgId)
    -> impl Future<Output = Result<Arc<OrgSettings>, Unavailable>> + Send;
    /// Returns the settings of an org. Reads consistently.
    fn stored_org_settings(
        &self,
        org: &OrgId,
    ) -> impl Future<Output = Result<StoredOrgSettings, Unavailable>> + Send;
}

/// Writes settings of orgs.
pub trait OrgSettingsStore: OrgSettingsReads {
    /// Replaces the settings of an org if their revision is the one before. Turns see the change within a minute.
    fn replace_org_settings(
        &self,
        org: &OrgId,
        after: &StoredOrgSettings,
    ) -> impl Future<Output = Result<(), WriteError>> + Send;
}
