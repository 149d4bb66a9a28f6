//! Changes of an org's settings.

use contracts::request::OrgSettings;
use protocol::Caller;

use crate::flow::{access, admin::context_edits::Precondition, org_settings};
use crate::{
    ports::{OrgSettingsStore, StoredOrgSettings, Unavailable, WriteError},
    refusal::Refusal,
};

/// The most times that a change is decided again because the settings changed meanwhile.
const MAX_TRIES: usize = 8;

/// Replaces the settings of orgs.
#[derive(Debug, Clone)]
pub struct OrgSettingsEditor<S> {
    store: S,
}

impl<S: OrgSettingsStore> OrgSettingsEditor<S> {
    /// Creates an editor.
    #[must_use]
    pub fn new(store: S) -> Self {
        Self { store }
    }

    /// Replaces the settings of the caller's org. The same settings again change nothing, so that a repeated request
    /// succeeds.
    ///
    /// # Errors
    /// If the caller isn't an operator, the settings name another org, or they aren't in the required state.
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
        let named = settings.etag.clone();
        let settings = org_settings::to_stored(settings);
        for _ in 0..MAX_TRIES {
            let before = self.store.stored_org_settings(&caller.org).await?;
            if before.settings != settings || *required == Precondition::Absent {
                let tag = org_settings::entity_tag(&before.settings);
                if !required.admits(Some(&tag)) || named.as_ref().is_some_and(|named| *named != tag) {
                    return Err(Refusal::SettingsChanged(tag));
                }
                let revision = before.revision.saturating_add(1);
                let after = StoredOrgSettings { revision, settings: settings.clone() };
                match self.store.replace_org_settings(&caller.org, &after).await {
                    Ok(()) => access::audit_org_settings(caller, &settings),
                    Err(WriteError::ConditionFailed | WriteError::Contended) => continue,
                    Err(error @ WriteError::Unknown(_)) => {
                        return Err(Unavailable { what: "the table", source: error.into() }.into());
                    }
                }
            }
            return Ok(org_settings::from_stored(settings, &caller.org));
        }
        Err(Refusal::Contended)
    }
}
