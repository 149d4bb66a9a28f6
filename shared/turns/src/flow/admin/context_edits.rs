//! Writes, deletes and rolls back contexts and modes. Every change is a new version.

use std::sync::Arc;

use agent::{
    context::{ContextId, ContextKind, Document, Rollout, Rules},
    mode::{Catalog, MAX_MODES},
};
use contracts::{Fingerprint, id::OrgId, read::Context};
use futures::future::try_join;
use protocol::{Caller, caller::User};

use crate::flow::{
    access,
    write::{self, ReadBack, Tried, WriteOutcome},
};
use crate::{
    context_view,
    ports::{Authorship, ContextChange, ContextHead, ContextStore, Host, StoredVersion, Unavailable},
    refusal::Refusal,
};

/// The state that a context must have for a change (RFC 9110 §13.1).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Precondition {
    /// Any state.
    #[default]
    None,
    /// `If-None-Match: *`: there is no such context.
    Absent,
    /// `If-Match: *`: there is such a context.
    Present,
    /// `If-Match`: the context has one of these entity tags.
    Matches(Vec<String>),
}

impl Precondition {
    fn holds(&self, head: Option<&ContextHead>) -> bool {
        self.admits(head.and_then(context_view::etag).as_ref())
    }

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

/// Edits contexts.
#[derive(Debug, Clone)]
pub struct ContextEditor<S, H> {
    store: S,
    host: H,
}

/// The content that a change leads to.
struct Target<'a> {
    /// The content as JSON. `None` deletes the context.
    content: Option<&'a str>,
    /// The version that it restores.
    restored: Option<u32>,
}

/// The result of a change.
struct Applied {
    head: ContextHead,
    /// False if the context was in that state already.
    is_new: bool,
}

impl<S: ContextStore, H: Host> ContextEditor<S, H> {
    /// Creates an editor.
    #[must_use]
    pub fn new(store: S, host: H) -> Self {
        Self { store, host }
    }

    /// Writes a context. The same content again changes nothing, so that a repeated request succeeds.
    ///
    /// # Errors
    /// If the caller may not edit contexts, the content is invalid, or the context isn't in the required state.
    pub async fn put(
        &self,
        caller: &Caller,
        id: &ContextId,
        text: &str,
        required: &Precondition,
        rules: &Rules<'_>,
    ) -> Result<Context, Refusal> {
        access::require_context_editor(caller)?;
        let document = self.parse(&caller.org, id, text, rules).await?;
        let content = stored(&document)?;
        let target = Target { content: Some(&content), restored: None };
        self.apply(caller, id, &target, required, "context_put").await
    }

    /// Restores the content of an earlier version, as a new version. A context that has that content stays as it is.
    ///
    /// # Errors
    /// If the caller may not edit contexts, there is no such version, its content is no longer valid, or the context
    /// isn't in the required state.
    pub async fn roll_back(
        &self,
        caller: &Caller,
        id: &ContextId,
        version: u32,
        required: &Precondition,
        rules: &Rules<'_>,
    ) -> Result<Context, Refusal> {
        access::require_context_editor(caller)?;
        let found = self.store.context_version(&caller.org, id, version).await?;
        let content = found
            .and_then(|found| found.content)
            .ok_or_else(|| Refusal::context_version_not_found(version.to_string()))?;
        self.parse(&caller.org, id, &content, rules).await?;
        let target = Target { content: Some(&content), restored: Some(version) };
        self.apply(caller, id, &target, required, "context_rollback").await
    }

    /// Rolls a version out to a percentage of the sessions. 0 ends the rollout.
    ///
    /// # Errors
    /// If the caller may not edit contexts, there is no such context or version, its content is no longer valid, or the
    /// context isn't in the required state.
    pub async fn roll_out(
        &self,
        caller: &Caller,
        id: &ContextId,
        rollout: Rollout,
        required: &Precondition,
        rules: &Rules<'_>,
    ) -> Result<Context, Refusal> {
        access::require_context_editor(caller)?;
        let not_found = || Refusal::context_version_not_found(rollout.version.to_string());
        let found = self.store.context_version(&caller.org, id, rollout.version).await?;
        let content = found.and_then(|found| found.content).ok_or_else(not_found)?;
        self.parse(&caller.org, id, &content, rules).await?;
        let rollout = Some(rollout).filter(|rollout| rollout.percent > 0);
        write::decide(&self.host, || async {
            let before = self.store.context_head(&caller.org, id).await?;
            // A repeated request finds its own change, as in `write`.
            if let Some(head) = &before
                && head.content.is_some()
                && head.rollout == rollout
                && *required != Precondition::Absent
            {
                return Ok(Tried::Done(context_view::context(id, head, true)?));
            }
            if !required.holds(before.as_ref()) {
                return Err(Refusal::context_changed(
                    before.as_ref().and_then(context_view::etag).as_deref(),
                ));
            }
            let live = before.filter(|head| head.content.is_some());
            let before = live.ok_or_else(|| Refusal::context_not_found(id))?;
            let after = ContextHead { rollout, ..before.clone() };
            let change = ContextChange { before: Some(before), after, versions: Vec::new() };
            let written = self.write_change(&caller.org, id, &change).await?;
            if let WriteOutcome::Applied = written {
                let version = rollout.map(|rollout| rollout.version);
                access::audit_context("context_rollout", caller, id, version);
            }
            Ok(written.done(context_view::context(id, &change.after, true)?))
        })
        .await
    }

    /// Deletes a context. Its versions stay.
    ///
    /// # Errors
    /// If the caller may not edit contexts, there is no such context, or it isn't in the required state.
    pub async fn delete(
        &self,
        caller: &Caller,
        id: &ContextId,
        required: &Precondition,
    ) -> Result<Context, Refusal> {
        access::require_context_editor(caller)?;
        let head = self.store.context_head(&caller.org, id).await?;
        let head = head.filter(|head| head.content.is_some());
        let deleted = context_view::context(id, &head.ok_or_else(|| Refusal::context_not_found(id))?, true)?;
        let target = Target { content: None, restored: None };
        let applied = self.write(&caller.org, id, &target, required, Some(&caller.user)).await?;
        audit(caller, id, &applied, "context_delete");
        Ok(deleted)
    }

    /// Writes a valid context for an org, on behalf of an operator with AWS credentials.
    ///
    /// # Errors
    /// If the store can't be reached.
    pub async fn import(&self, org: &OrgId, document: &Document) -> Result<(), Refusal> {
        let content = stored(document)?;
        let target = Target { content: Some(&content), restored: None };
        self.write(org, &document.context_id(), &target, &Precondition::None, None).await.map(|_| ())
    }

    /// Parses a document by the rules, with the modes that the org has besides it.
    async fn parse(
        &self,
        org: &OrgId,
        id: &ContextId,
        text: &str,
        rules: &Rules<'_>,
    ) -> Result<Document, Refusal> {
        let catalog = self.catalog_besides(org, id, rules.catalog).await?;
        let rules = Rules { catalog: &catalog, ..rules.clone() };
        rules.parse_document(id, text).map_err(Refusal::InvalidContext)
    }

    /// Returns the built-in modes with those of the org, except for the one with this id. Agents name no modes.
    async fn catalog_besides(
        &self,
        org: &OrgId,
        id: &ContextId,
        built_in: &Catalog,
    ) -> Result<Catalog, Refusal> {
        if id.kind() == ContextKind::Agent {
            return Ok(built_in.clone());
        }
        let heads = self.store.context_heads(org, ContextKind::Mode, None, MAX_MODES).await?;
        let mut modes = Vec::with_capacity(heads.len());
        for (_, head) in heads.iter().filter(|(other, _)| other != id) {
            if let Document::Mode(mode) = context_view::document(ContextKind::Mode, head)? {
                modes.push(Arc::new(mode));
            }
        }
        Ok(built_in.with_modes(&modes))
    }

    async fn apply(
        &self,
        caller: &Caller,
        id: &ContextId,
        target: &Target<'_>,
        required: &Precondition,
        action: &'static str,
    ) -> Result<Context, Refusal> {
        let applied = self.write(&caller.org, id, target, required, Some(&caller.user)).await?;
        audit(caller, id, &applied, action);
        Ok(context_view::context(id, &applied.head, true)?)
    }

    async fn write(
        &self,
        org: &OrgId,
        id: &ContextId,
        target: &Target<'_>,
        required: &Precondition,
        by: Option<&User>,
    ) -> Result<Applied, Refusal> {
        write::decide(&self.host, || async {
            let (before, newest) =
                try_join(self.store.context_head(org, id), self.store.context_versions(org, id, None, 1))
                    .await?;
            let is_applied = before.as_ref().is_some_and(|head| head.content.as_deref() == target.content);
            // A repeated request finds its own change, which no longer has the tag that it requires.
            if is_applied
                && *required != Precondition::Absent
                && let Some(head) = before
            {
                return Ok(Tried::Done(Applied { head, is_new: false }));
            }
            if !required.holds(before.as_ref()) {
                return Err(Refusal::context_changed(
                    before.as_ref().and_then(context_view::etag).as_deref(),
                ));
            }
            let newest = newest.first().map(|newest| newest.number);
            let change = Authorship { at: self.host.now(), by: by.cloned() };
            let change = decide(before, newest, target, change);
            let written = self.write_change(org, id, &change).await?;
            Ok(written.done(Applied { head: change.after, is_new: true }))
        })
        .await
    }

    async fn write_change(
        &self,
        org: &OrgId,
        id: &ContextId,
        change: &ContextChange,
    ) -> Result<WriteOutcome, Unavailable> {
        let write = || self.store.change_context(org, id, change);
        let read_back = || async {
            let stored = self.store.context_head(org, id).await?;
            Ok(ReadBack::of(&stored, &change.before, &Some(change.after.clone())))
        };
        write::until_known(&self.host, false, write, read_back).await
    }
}

/// Returns the change to the target. A head that was written without a version is kept as one first, so that it can be
/// restored.
fn decide(
    before: Option<ContextHead>,
    newest: Option<u32>,
    target: &Target<'_>,
    change: Authorship,
) -> ContextChange {
    let live = before.as_ref().and_then(|head| head.version);
    let mut next = newest.max(live).map_or(1, |newest| newest.saturating_add(1));
    let mut versions = Vec::new();
    if let Some(ContextHead { content: Some(content), version: None, .. }) = &before {
        versions.push(version(next, Authorship { by: None, ..change.clone() }, None, Some(content.as_str())));
        next = next.saturating_add(1);
    }
    versions.push(version(next, change.clone(), target.restored, target.content));
    let content = target.content.map(str::to_owned);
    let after = ContextHead { content, version: Some(next), change: Some(change), rollout: None };
    ContextChange { before, after, versions }
}

fn version(number: u32, change: Authorship, restored: Option<u32>, content: Option<&str>) -> StoredVersion {
    let content = content.map(str::to_owned);
    let hash = content.as_ref().map(|content| Fingerprint::hash_bytes(content.as_bytes()));
    StoredVersion { number, change, restored, hash, content }
}

fn audit(caller: &Caller, id: &ContextId, applied: &Applied, action: &'static str) {
    if applied.is_new {
        access::audit_context(action, caller, id, applied.head.version);
    }
}

fn stored(document: &Document) -> Result<String, Unavailable> {
    document.to_stored().map_err(|error| Unavailable { what: "a context", source: error.into() })
}

#[cfg(test)]
mod tests {
    use contracts::Timestamp;

    use super::*;

    fn change() -> Authorship {
        Authorship { at: Timestamp::from_millis(0), by: None }
    }

    fn head(content: &str, version: Option<u32>) -> ContextHead {
        ContextHead { content: Some(content.to_owned()), version, change: None, rollout: None }
    }

    fn numbers(before: Option<ContextHead>, newest: Option<u32>) -> Vec<(u32, Option<String>)> {
        let target = Target { content: Some("new"), restored: None };
        let change = decide(before, newest, &target, change());
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
        let tag = context_view::etag(&one).unwrap();
        let matches = Precondition::Matches(vec!["x".to_owned(), tag]);
        assert!(matches.holds(Some(&one)) && !matches.holds(Some(&other)) && !matches.holds(None));
        let deleted = ContextHead { content: None, ..one.clone() };
        for (head, exists) in [(Some(&one), true), (Some(&deleted), false), (None, false)] {
            assert_eq!(Precondition::Absent.holds(head), !exists);
            assert_eq!(Precondition::Present.holds(head), exists);
            assert!(Precondition::None.holds(head));
        }
    }
}
