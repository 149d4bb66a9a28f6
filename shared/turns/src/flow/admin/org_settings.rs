//! Replacement of an org's documents as a whole and under their revision, and changes of its settings.

use contracts::request::OrgSettings;
use protocol::Caller;
use serde::Serialize;

use crate::{
    flow::{
        access,
        admin::context_edits::Precondition,
        entity_tag::entity_tag,
        org_settings,
        write::{self, ReadBack, Tried, WriteOutcome},
    },
    ports::{AgentDeps, OrgSettingsReads, OrgSettingsStore, StoredOrgSettings},
    refusal::Refusal,
};

/// Replaces the settings of the caller's org. The same settings again change nothing, so that a repeated request
/// succeeds.
///
/// # Errors
/// If the caller isn't an operator, the settings name another org or a provider that doesn't exist, or they aren't in
/// the required state.
pub async fn replace_org_settings<D: AgentDeps<Store: OrgSettingsStore>>(
    deps: &D,
    caller: &Caller,
    settings: OrgSettings,
    required: &Precondition,
) -> Result<OrgSettings, Refusal> {
    access::require_operator(caller)?;
    if settings.org.as_ref().is_some_and(|org| *org != caller.org) {
        return Err(Refusal::settings_of_another_org(&caller.org));
    }
    let provider = settings.titles.as_ref().and_then(|titles| titles.provider.as_ref());
    let declared: Vec<String> = deps.config().providers.declared().map(|provider| provider.name).collect();
    if provider.is_some_and(|name| !declared.contains(name)) {
        return Err(Refusal::unknown_title_provider(&declared));
    }
    let named = settings.etag.clone();
    let settings = org_settings::to_stored(settings);
    let (store, org) = (deps.store(), &caller.org);
    write::decide(deps.host(), || async {
        let before = store.stored_org_settings(org).await?;
        if !must_replace("settings", (&before.settings, &settings), named.as_ref(), required)? {
            return Ok(Tried::Done(()));
        }
        let revision = before.revision.saturating_add(1);
        let after = StoredOrgSettings { revision, settings: settings.clone() };
        let write = || store.replace_org_settings(org, &after);
        let read_back =
            || async { Ok(ReadBack::of(&store.stored_org_settings(org).await?, &before, &after)) };
        let written = write::until_known(deps.host(), false, write, read_back).await?;
        if let WriteOutcome::Applied = written {
            access::audit_org_settings(caller, &settings);
        }
        Ok::<_, Refusal>(written.done(()))
    })
    .await?;
    Ok(org_settings::from_stored(settings, org))
}

/// Returns true if the stored document has to be replaced, and false if it has this content already, so that a repeated
/// request succeeds. `named` is the entity tag in the new document.
///
/// # Errors
/// If the stored document isn't in the required state.
pub(super) fn must_replace<T: PartialEq + Serialize>(
    document: &'static str,
    (stored, new): (&T, &T),
    named: Option<&String>,
    required: &Precondition,
) -> Result<bool, Refusal> {
    if stored == new && *required != Precondition::Absent {
        return Ok(false);
    }
    let tag = entity_tag(stored);
    if required.admits(Some(&tag)) && named.is_none_or(|named| *named == tag) {
        Ok(true)
    } else {
        Err(Refusal::document_changed(document, &tag))
    }
}
