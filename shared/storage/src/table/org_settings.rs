//! The settings of orgs, cached for a minute in each process.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use contracts::{error::JsonError, id::OrgId, request::OrgSettings};
use turns::ports::{OrgSettingsReads, OrgSettingsStore, StoredOrgSettings, Unavailable, WriteError};

use super::{
    Table,
    documents::revision,
    read::{text, unreadable},
    ttl_cache::TtlCache,
};
use crate::{
    item::{Attributes, check_version},
    key::Item,
};

/// The most time that cached settings may be stale.
const TTL: Duration = Duration::from_secs(60);
/// The most orgs to cache.
const MAX_ORGS: usize = 1_000;

/// Recently read settings, by org. Orgs without any are cached too, so their turns pay for no read each.
pub(super) type OrgSettingsCache = TtlCache<OrgId, Arc<OrgSettings>>;

pub(super) fn new_cache() -> OrgSettingsCache {
    TtlCache::new(TTL, MAX_ORGS)
}

impl OrgSettingsReads for Table {
    async fn org_settings(&self, org: &OrgId) -> Result<Arc<OrgSettings>, Unavailable> {
        if let Some(settings) = self.org_settings_cache.get(org) {
            return Ok(settings);
        }
        let began = Instant::now();
        let settings = Arc::new(self.stored_org_settings(org).await?.settings);
        self.org_settings_cache.put(org.clone(), Arc::clone(&settings), began);
        Ok(settings)
    }

    async fn stored_org_settings(&self, org: &OrgId) -> Result<StoredOrgSettings, Unavailable> {
        match self.get(&Item::OrgSettings(org)).await? {
            None => Ok(StoredOrgSettings::default()),
            Some(item) => decode(&item),
        }
    }
}

impl OrgSettingsStore for Table {
    async fn replace_org_settings(&self, org: &OrgId, after: &StoredOrgSettings) -> Result<(), WriteError> {
        let StoredOrgSettings { revision, settings } = after;
        let document = serde_json::to_string(settings)
            .map_err(|error| WriteError::Unknown(JsonError::from(&error).into()))?;
        let began = Instant::now();
        match self.replace_document(&Item::OrgSettings(org), *revision, document).await {
            Ok(()) => {
                // Turns of this process see the change at once, turns of other processes within the cache's time.
                self.org_settings_cache.put(org.clone(), Arc::new(settings.clone()), began);
                Ok(())
            }
            Err(error) => {
                self.org_settings_cache.remove(org);
                Err(error)
            }
        }
    }
}

fn decode(item: &Attributes) -> Result<StoredOrgSettings, Unavailable> {
    check_version(item).map_err(unreadable)?;
    let settings = serde_json::from_str(text(item, "Document").unwrap_or_default());
    Ok(StoredOrgSettings { revision: revision(item), settings: settings.map_err(|error| malformed(&error))? })
}

/// The error gives the location in the document but never its content (I14).
fn malformed(error: &serde_json::Error) -> Unavailable {
    Unavailable { what: "the org's settings", source: JsonError::from(error).into() }
}
