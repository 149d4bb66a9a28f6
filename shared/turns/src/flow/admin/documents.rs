//! Changes of documents: agents, conversation contexts, modes, budgets and settings of an org. Every change of a context
//! is a new version. The same change again changes nothing, so that a repeated request succeeds.

use std::{future::ready, sync::Arc};

use agent::{
    connection::Connection,
    context::{ContextId, ContextKind, Document, Rollout, Rules},
    mode::{Catalog, MAX_MODES},
};
use contracts::{
    Fingerprint,
    id::OrgId,
    request::{Budgets, OrgSettings},
};
use futures::future::try_join;
use protocol::{Caller, caller::User};

use crate::{
    document_view::{self, DocumentView},
    flow::{
        access,
        admin::{connections::check_connections, price_check::check_prices},
        write::{self, ReadBack, Tried, WriteOutcome},
    },
    ports::{
        AgentDeps, Authorship, DocumentChange, DocumentHead, DocumentId, Documents, Host, Store,
        StoredVersion, Unavailable, single,
    },
    refusal::Refusal,
};

/// The state that a document must have for a change (RFC 9110 §13.1).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Precondition {
    /// Any state.
    #[default]
    None,
    /// `If-None-Match: *`: there is no such document.
    Absent,
    /// `If-Match: *`: there is such a document.
    Present,
    /// `If-Match`: the document has one of these entity tags.
    Matches(Vec<String>),
}

impl Precondition {
    /// True if the change may be made to a resource with this entity tag, or to none.
    pub(crate) fn admits(&self, tag: Option<&String>) -> bool {
        match self {
            Self::None => true,
            Self::Absent => tag.is_none(),
            Self::Present => tag.is_some(),
            Self::Matches(tags) => tag.is_some_and(|tag| tags.contains(tag)),
        }
    }
}

/// The new content of a document.
#[derive(Debug)]
pub enum NewDocument {
    /// JSON of a context, not parsed.
    Context(ContextId, String),
    /// Budgets. Their entity tag, if they have one, must be the stored one's.
    Budgets(Budgets),
    /// Settings. Their entity tag, if they have one, must be the stored one's.
    OrgSettings(Box<OrgSettings>),
}

/// A change of a document, before its state is known.
enum Target {
    /// Stores a content. `None` deletes the context.
    Content {
        content: Option<String>,
        /// The version that it restores.
        restored: Option<u32>,
        /// The entity tag in the new content.
        named: Option<String>,
    },
    /// Starts a rollout, or ends it.
    Rollout(Option<Rollout>),
}

/// The result of a change.
struct Applied {
    head: Option<DocumentHead>,
    /// False if the document was in that state already.
    is_new: bool,
}

/// Creates or replaces a document.
///
/// # Errors
/// If the caller may not edit the document, the content is invalid, or the document isn't in the required state.
pub async fn put_document(
    deps: &impl AgentDeps,
    caller: &Caller,
    new: NewDocument,
    required: &Precondition,
) -> Result<DocumentView, Refusal> {
    let (id, content, named) = match new {
        NewDocument::Context(id, text) => {
            access::require_editor_of(caller, &id)?;
            let document = parse(deps, &caller.org, &id, &text).await?;
            (id.into(), stored(&document)?, None)
        }
        NewDocument::Budgets(mut budgets) => {
            access::require_operator(caller)?;
            let named = budgets.etag.take();
            (DocumentId::Budgets, document_view::to_json(&DocumentId::Budgets, &budgets)?, named)
        }
        NewDocument::OrgSettings(settings) => {
            access::require_operator(caller)?;
            check_settings(deps, caller, &settings)?;
            let named = settings.etag.clone();
            let settings = OrgSettings { org: None, etag: None, ..*settings };
            (DocumentId::OrgSettings, document_view::to_json(&DocumentId::OrgSettings, &settings)?, named)
        }
    };
    let target = Target::Content { content: Some(content), restored: None, named };
    apply(deps, caller, &id, &target, required, "context_put").await
}

/// Replaces a connection by itself with other tools.
///
/// # Errors
/// If the connection is invalid now, or isn't in the required state.
pub(super) async fn put_connection(
    deps: &impl AgentDeps,
    caller: &Caller,
    connection: Connection,
    required: &Precondition,
) -> Result<DocumentView, Refusal> {
    let document = Document::Connection(connection);
    let (id, text) = (document.context_id(), stored(&document)?);
    let document = parse(deps, &caller.org, &id, &text).await?;
    let target = Target::Content { content: Some(stored(&document)?), restored: None, named: None };
    apply(deps, caller, &id.into(), &target, required, "context_put").await
}

/// Restores the content of an earlier version of a context, as a new version.
///
/// # Errors
/// If the caller may not edit contexts, there is no such version, its content is no longer valid, or the context
/// isn't in the required state.
pub async fn roll_back(
    deps: &impl AgentDeps,
    caller: &Caller,
    id: ContextId,
    version: u32,
    required: &Precondition,
) -> Result<DocumentView, Refusal> {
    let content = valid_version(deps, caller, &id, version).await?;
    let target = Target::Content { content: Some(content), restored: Some(version), named: None };
    apply(deps, caller, &id.into(), &target, required, "context_rollback").await
}

/// Rolls a version of a context out to a percentage of the sessions. 0 ends the rollout.
///
/// # Errors
/// If the caller may not edit contexts, there is no such context or version, its content is no longer valid, or the
/// context isn't in the required state.
pub async fn roll_out(
    deps: &impl AgentDeps,
    caller: &Caller,
    id: ContextId,
    rollout: Rollout,
    required: &Precondition,
) -> Result<DocumentView, Refusal> {
    valid_version(deps, caller, &id, rollout.version).await?;
    let target = Target::Rollout(Some(rollout).filter(|rollout| rollout.percent > 0));
    apply(deps, caller, &id.into(), &target, required, "context_rollout").await
}

/// Deletes a context, and returns it as it was. Its versions stay.
///
/// # Errors
/// If the caller may not edit contexts, there is no such context, or it isn't in the required state.
pub async fn delete_context(
    deps: &impl AgentDeps,
    caller: &Caller,
    id: ContextId,
    required: &Precondition,
) -> Result<DocumentView, Refusal> {
    access::require_editor_of(caller, &id)?;
    let document = DocumentId::Context(id.clone());
    let head = deps.store().document(&caller.org, &document).await?;
    let head = head.filter(|head| head.content.is_some()).ok_or_else(|| Refusal::context_not_found(&id))?;
    let deleted = document_view::view(&caller.org, &document, Some(&head))?;
    change(deps, caller, &document, &Target::deletion(), required, "context_delete").await?;
    Ok(deleted)
}

/// Writes a valid context for an org, on behalf of an operator with AWS credentials.
///
/// # Errors
/// If the store can't be reached.
pub async fn import_context(
    store: &impl Store,
    host: &impl Host,
    org: &OrgId,
    document: &Document,
) -> Result<(), Refusal> {
    let target = Target::Content { content: Some(stored(document)?), restored: None, named: None };
    let id = document.context_id().into();
    write(store, host, (org, None), &id, &target, &Precondition::None, || ready(Ok(()))).await.map(|_| ())
}

/// Deletes a context of an org, on behalf of an operator with AWS credentials. Its versions stay.
///
/// # Errors
/// If the store can't be reached.
pub async fn remove_context(
    store: &impl Store,
    host: &impl Host,
    org: &OrgId,
    id: ContextId,
) -> Result<(), Refusal> {
    let target = Target::deletion();
    write(store, host, (org, None), &id.into(), &target, &Precondition::None, || ready(Ok(())))
        .await
        .map(|_| ())
}

impl Target {
    fn deletion() -> Self {
        Self::Content { content: None, restored: None, named: None }
    }

    /// True if the document has the state that the change leads to.
    fn is_reached(&self, head: Option<&DocumentHead>, live: Option<&String>) -> bool {
        match self {
            Self::Content { content, .. } => live == content.as_ref(),
            Self::Rollout(rollout) => head.is_some_and(|head| live.is_some() && head.rollout == *rollout),
        }
    }
}

/// Requires that settings are the org's own, and that the provider of titles exists.
fn check_settings(deps: &impl AgentDeps, caller: &Caller, settings: &OrgSettings) -> Result<(), Refusal> {
    if settings.org.as_ref().is_some_and(|org| *org != caller.org) {
        return Err(Refusal::settings_of_another_org(&caller.org));
    }
    let provider = settings.titles.as_ref().and_then(|titles| titles.provider.as_ref());
    let declared: Vec<String> = deps.config().providers.declared().map(|provider| provider.name).collect();
    match provider.is_some_and(|name| !declared.contains(name)) {
        true => Err(Refusal::unknown_title_provider(&declared)),
        false => Ok(()),
    }
}

/// Returns the content of a version that is still valid.
async fn valid_version(
    deps: &impl AgentDeps,
    caller: &Caller,
    id: &ContextId,
    version: u32,
) -> Result<String, Refusal> {
    access::require_editor_of(caller, id)?;
    let found = deps.store().context_version(&caller.org, id, version).await?;
    let content = found.and_then(|found| found.content);
    let content = content.ok_or_else(|| Refusal::context_version_not_found(version.to_string()))?;
    parse(deps, &caller.org, id, &content).await?;
    Ok(content)
}

/// Parses a context by the rules, with the modes that the org has besides it.
async fn parse(deps: &impl AgentDeps, org: &OrgId, id: &ContextId, text: &str) -> Result<Document, Refusal> {
    let rules = deps.config().rules();
    let catalog = catalog_besides(deps.store(), org, id, rules.catalog).await?;
    let rules = Rules { catalog: &catalog, ..rules.clone() };
    let document = rules.parse_document(id, text).map_err(Refusal::InvalidContext)?;
    check_connections(deps, org, &document).await?;
    Ok(document)
}

/// Returns the built-in modes with those of the org, except for the one with this id. Agents, connections and webhooks name no
/// modes.
async fn catalog_besides(
    store: &impl Store,
    org: &OrgId,
    id: &ContextId,
    built_in: &Catalog,
) -> Result<Catalog, Refusal> {
    if matches!(id.kind(), ContextKind::Agent | ContextKind::Connection | ContextKind::Webhook) {
        return Ok(built_in.clone());
    }
    let heads = store.contexts(org, ContextKind::Mode, None, MAX_MODES).await?;
    let mut modes = Vec::with_capacity(heads.len());
    for (other, head) in heads.iter().filter(|(other, _)| other != id) {
        if let Document::Mode(mode) = document_view::parse(other, head)? {
            modes.push(Arc::new(mode));
        }
    }
    Ok(built_in.with_modes(&modes))
}

/// Changes a document, and returns it as it is then.
async fn apply(
    deps: &impl AgentDeps,
    caller: &Caller,
    id: &DocumentId,
    target: &Target,
    required: &Precondition,
    action: &'static str,
) -> Result<DocumentView, Refusal> {
    let head = change(deps, caller, id, target, required, action).await?;
    Ok(document_view::view(&caller.org, id, head.as_ref())?)
}

/// Changes a document, and logs the change. Budgets of money must be able to count the org's agents.
async fn change(
    deps: &impl AgentDeps,
    caller: &Caller,
    id: &DocumentId,
    target: &Target,
    required: &Precondition,
    action: &'static str,
) -> Result<Option<DocumentHead>, Refusal> {
    let check = || async {
        match (id, target) {
            (DocumentId::Budgets, Target::Content { content, .. }) => {
                let head = DocumentHead { content: content.clone(), ..DocumentHead::default() };
                // Boxed: it reads every agent.
                Box::pin(check_prices(deps, &caller.org, &single(id, Some(&head))?)).await
            }
            _ => Ok(()),
        }
    };
    let by = (&caller.org, Some(&caller.user));
    let Applied { head, is_new } = write(deps.store(), deps.host(), by, id, target, required, check).await?;
    if is_new {
        match (id, target) {
            (DocumentId::Context(id), Target::Rollout(rollout)) => {
                access::audit_context(action, caller, id, rollout.map(|rollout| rollout.version));
            }
            (DocumentId::Context(id), Target::Content { .. }) => {
                access::audit_context(action, caller, id, head.as_ref().and_then(|head| head.version));
            }
            (DocumentId::Budgets, _) => access::audit_budgets(caller),
            (DocumentId::OrgSettings, _) => access::audit_org_settings(caller, &single(id, head.as_ref())?),
        }
    }
    Ok(head)
}

/// Changes a document of an org under the precondition. `check` may refuse a change that would be made.
async fn write<F>(
    store: &impl Store,
    host: &impl Host,
    (org, by): (&OrgId, Option<&User>),
    id: &DocumentId,
    target: &Target,
    required: &Precondition,
    check: impl Fn() -> F,
) -> Result<Applied, Refusal>
where
    F: Future<Output = Result<(), Refusal>>,
{
    write::decide(host, || async {
        let (head, newest) = try_join(store.document(org, id), newest_version(store, org, id)).await?;
        let live = document_view::content(id, head.as_ref())?;
        let exists = head.is_some() || live.is_some();
        // A repeated request finds its own change, which no longer has the tag that it requires.
        if exists && target.is_reached(head.as_ref(), live.as_ref()) && *required != Precondition::Absent {
            return Ok(Tried::Done(Applied { head, is_new: false }));
        }
        let tag = document_view::etag(id, head.as_ref())?;
        let named = match target {
            Target::Content { named, .. } => named.as_ref(),
            Target::Rollout(_) => None,
        };
        if !required.admits(tag.as_ref()) || named.is_some_and(|named| Some(named) != tag.as_ref()) {
            return Err(Refusal::document_changed(id, tag.as_deref()));
        }
        check().await?;
        let change = decide(id, head, newest, target, Authorship { at: host.now(), by: by.cloned() })?;
        let write = || store.change_document(org, id, &change);
        let read_back = || async {
            let stored = store.document(org, id).await?;
            Ok(ReadBack::of(&stored, &change.before, &Some(change.after.clone())))
        };
        let written: WriteOutcome = write::until_known(host, false, write, read_back).await?;
        Ok(written.done(Applied { head: Some(change.after), is_new: true }))
    })
    .await
}

/// Returns the number of the newest version of a context.
async fn newest_version(
    store: &impl Store,
    org: &OrgId,
    id: &DocumentId,
) -> Result<Option<u32>, Unavailable> {
    let DocumentId::Context(id) = id else { return Ok(None) };
    let newest = store.context_versions(org, id, None, 1).await?;
    Ok(newest.first().map(|newest| newest.number))
}

/// Returns the change to the target. The head of a context that was written without a version is kept as one first, so
/// that it can be restored. Budgets and settings only count their changes.
///
/// # Errors
/// If a rollout has no live context.
fn decide(
    id: &DocumentId,
    before: Option<DocumentHead>,
    newest: Option<u32>,
    target: &Target,
    change: Authorship,
) -> Result<DocumentChange, Refusal> {
    let live = before.as_ref().and_then(|head| head.version);
    let mut next = newest.max(live).map_or(1, |newest| newest.saturating_add(1));
    let mut versions = Vec::new();
    let (content, restored) = match (id, target) {
        (DocumentId::Context(id), Target::Rollout(rollout)) => {
            let live = before.filter(|head| head.content.is_some());
            let before = live.ok_or_else(|| Refusal::context_not_found(id))?;
            let after = DocumentHead { rollout: *rollout, ..before.clone() };
            return Ok(DocumentChange { before: Some(before), after, versions });
        }
        (_, Target::Content { content, restored, .. }) => (content.clone(), *restored),
        (_, Target::Rollout(_)) => (None, None),
    };
    let DocumentId::Context(_) = id else {
        let after = DocumentHead { content, version: Some(next), ..DocumentHead::default() };
        return Ok(DocumentChange { before, after, versions });
    };
    if let Some(DocumentHead { content: Some(content), version: None, .. }) = &before {
        versions.push(version(next, Authorship { by: None, ..change.clone() }, None, Some(content.clone())));
        next = next.saturating_add(1);
    }
    versions.push(version(next, change.clone(), restored, content.clone()));
    let after = DocumentHead { content, version: Some(next), change: Some(change), rollout: None };
    Ok(DocumentChange { before, after, versions })
}

fn version(number: u32, change: Authorship, restored: Option<u32>, content: Option<String>) -> StoredVersion {
    let hash = content.as_ref().map(|content| Fingerprint::hash_bytes(content.as_bytes()));
    StoredVersion { number, change, restored, hash, content }
}

fn stored(document: &Document) -> Result<String, Unavailable> {
    document.to_stored().map_err(|error| Unavailable { what: "a context", source: error.into() })
}

#[cfg(test)]
mod tests {
    use contracts::Timestamp;

    use super::*;

    fn id() -> DocumentId {
        ContextKind::Agent.id("a").unwrap().into()
    }

    fn head(content: &str, version: Option<u32>) -> DocumentHead {
        DocumentHead { content: Some(content.to_owned()), version, change: None, rollout: None }
    }

    fn numbers(before: Option<DocumentHead>, newest: Option<u32>) -> Vec<(u32, Option<String>)> {
        let target = Target::Content { content: Some("new".to_owned()), restored: None, named: None };
        let change = Authorship { at: Timestamp::from_millis(0), by: None };
        let change = decide(&id(), before, newest, &target, change).unwrap();
        assert_eq!(change.after.version, change.versions.last().map(|last| last.number));
        change.versions.into_iter().map(|version| (version.number, version.content)).collect()
    }

    #[test]
    fn next_number_follows_every_stored_version() {
        let new = || Some("new".to_owned());
        assert_eq!(numbers(None, None), [(1, new())]);
        assert_eq!(numbers(None, Some(4)), [(5, new())]);
        assert_eq!(numbers(Some(head("old", Some(4))), Some(4)), [(5, new())]);
        assert_eq!(numbers(Some(head("old", Some(9))), Some(4)), [(10, new())]);
    }

    #[test]
    fn content_without_a_version_is_kept_as_one_before_it_is_replaced() {
        let kept = [(5, Some("old".to_owned())), (6, Some("new".to_owned()))];
        assert_eq!(numbers(Some(head("old", None)), Some(4)), kept);
    }

    #[test]
    fn precondition_compares_the_live_tag() {
        let (one, other) = (head("old", Some(1)), head("old", Some(2)));
        let tag = |head: Option<&DocumentHead>| document_view::etag(&id(), head).unwrap();
        let holds = |required: &Precondition, head| required.admits(tag(head).as_ref());
        let matches = Precondition::Matches(vec!["x".to_owned(), tag(Some(&one)).unwrap()]);
        assert!(holds(&matches, Some(&one)) && !holds(&matches, Some(&other)) && !holds(&matches, None));
        let deleted = DocumentHead { content: None, ..one.clone() };
        for (head, exists) in [(Some(&one), true), (Some(&deleted), false), (None, false)] {
            assert_eq!(holds(&Precondition::Absent, head), !exists);
            assert_eq!(holds(&Precondition::Present, head), exists);
            assert!(holds(&Precondition::None, head));
        }
    }
}
