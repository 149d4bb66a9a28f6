//! The settings of orgs with faults.

use std::sync::Arc;

use contracts::{id::OrgId, request::OrgSettings};
use turns::ports::{OrgSettingsReads, StoredOrgSettings, Unavailable};

use super::Faulty;
use crate::fault::Effect;

impl<S: OrgSettingsReads> OrgSettingsReads for Faulty<S> {
    // Cached, so nearly always without a call.
    async fn org_settings(&self, org: &OrgId) -> Result<Arc<OrgSettings>, Unavailable> {
        self.inner.org_settings(org).await
    }

    async fn stored_org_settings(&self, org: &OrgId) -> Result<StoredOrgSettings, Unavailable> {
        self.read(Effect::ReadContext, self.inner.stored_org_settings(org)).await
    }
}
