//! The settings of orgs.

use std::{future::Future, sync::Arc};

use contracts::{id::OrgId, request::OrgSettings};

use super::errors::{Unavailable, WriteError};

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
