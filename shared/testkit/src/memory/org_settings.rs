//! The settings of orgs.

use std::sync::Arc;

use contracts::{id::OrgId, request::OrgSettings};
use turns::ports::{OrgSettingsReads, OrgSettingsStore, StoredOrgSettings, Unavailable, WriteError};

use super::Table;

impl OrgSettingsReads for Table {
    async fn org_settings(&self, org: &OrgId) -> Result<Arc<OrgSettings>, Unavailable> {
        Ok(Arc::new(self.stored_org_settings(org).await?.settings))
    }

    async fn stored_org_settings(&self, org: &OrgId) -> Result<StoredOrgSettings, Unavailable> {
        Ok(self.contents().org_settings.get(org).cloned().unwrap_or_default())
    }
}

impl OrgSettingsStore for Table {
    async fn replace_org_settings(&self, org: &OrgId, after: &StoredOrgSettings) -> Result<(), WriteError> {
        let mut contents = self.contents();
        let before = contents.org_settings.get(org).map_or(0, |stored| stored.revision);
        if before + 1 != after.revision {
            return Err(WriteError::ConditionFailed);
        }
        contents.org_settings.insert(org.clone(), after.clone());
        Ok(())
    }
}
