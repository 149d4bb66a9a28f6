//! Changes of an org's settings.

use contracts::request::OrgSettings;
use protocol::Caller;

use crate::flow::{
    access,
    admin::{
        context_edits::Precondition,
        document_edits::{MAX_TRIES, is_replaced, must_replace},
    },
    org_settings,
};
use crate::{
    ports::{OrgSettingsStore, StoredOrgSettings},
    refusal::Refusal,
};

/// Replaces the settings of orgs.
#[derive(Debug, Clone)]
pub struct OrgSettingsEditor<S> {
    store: S,
    providers: Vec<String>,
}

impl<S: OrgSettingsStore> OrgSettingsEditor<S> {
    /// Creates an editor. `providers` are the names of the deployment's providers.
    #[must_use]
    pub fn new(store: S, providers: Vec<String>) -> Self {
        Self { store, providers }
    }

    /// Replaces the settings of the caller's org. The same settings again change nothing, so that a repeated request
    /// succeeds.
    ///
    /// # Errors
    /// If the caller isn't an operator, the settings name another org or a provider that doesn't exist, or they aren't in
    /// the required state.
    pub async fn replace(
        &self,
        caller: &Caller,
        settings: OrgSettings,
        required: &Precondition,
    ) -> Result<OrgSettings, Refusal> {
        access::require_operator(caller)?;
        if settings.org.as_ref().is_some_and(|org| *org != caller.org) {
            return Err(Refusal::SettingsOfAnotherOrg(caller.org.clone()));
        }
        let provider = settings.titles.as_ref().and_then(|titles| titles.provider.as_ref());
        if provider.is_some_and(|name| !self.providers.contains(name)) {
            return Err(Refusal::UnknownTitleProvider(self.providers.clone()));
        }
        let named = settings.etag.clone();
        let settings = org_settings::to_stored(settings);
        for _ in 0..MAX_TRIES {
            let before = self.store.stored_org_settings(&caller.org).await?;
            if must_replace("settings", (&before.settings, &settings), named.as_ref(), required)? {
                let revision = before.revision.saturating_add(1);
                let after = StoredOrgSettings { revision, settings: settings.clone() };
                if !is_replaced(self.store.replace_org_settings(&caller.org, &after).await)? {
                    continue;
                }
                access::audit_org_settings(caller, &settings);
            }
            return Ok(org_settings::from_stored(settings, &caller.org));
        }
        Err(Refusal::Contended)
    }
}
