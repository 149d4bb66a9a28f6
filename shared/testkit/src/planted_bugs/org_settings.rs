//! The settings of orgs, without a bug.

use std::sync::Arc;

use contracts::{id::OrgId, request::OrgSettings};
use turns::ports::{OrgSettingsReads, StoredOrgSettings, Unavailable};

use super::Buggy;
use crate::memory::Table;

impl OrgSettingsReads for Buggy<Table> {
    async fn org_settings(&self, org: &OrgId) -> Result<Arc<OrgSettings>, Unavailable> {
        self.faulty.org_settings(org).await
    }

    async fn stored_org_settings(&self, org: &OrgId) -> Result<StoredOrgSettings, Unavailable> {
        self.faulty.stored_org_settings(org).await
    }
}
