//! The documents of orgs.

use std::sync::Arc;

use agent::{
    context::{ContextId, ContextKind, Document, Rollout},
    mode::{MAX_MODES, Mode},
};
use contracts::{Timestamp, id::OrgId, request::Budgets};
use turns::ports::{
    Authorship, DocumentChange, DocumentHead, DocumentId, Documents, OrgModes, StoredVersion, Unavailable,
    WriteError,
};

use super::{Contents, Table};

impl Contents {
    /// Applies a change of a document if its conditions hold.
    pub(super) fn change_document(
        &mut self,
        org: &OrgId,
        id: &DocumentId,
        change: &DocumentChange,
    ) -> Result<(), WriteError> {
        let key = (org.clone(), id.clone());
        if self.documents.get(&key) != change.before.as_ref() {
            return Err(WriteError::ConditionFailed);
        }
        if let DocumentId::Context(id) = id {
            let versions = change.versions.iter();
            let versions: Vec<_> = versions
                .map(|version| ((org.clone(), id.clone(), version.number), version.clone()))
                .collect();
            if versions.iter().any(|(key, _)| self.versions.contains_key(key)) {
                return Err(WriteError::ConditionFailed);
            }
            self.versions.extend(versions);
        }
        self.documents.insert(key, change.after.clone());
        Ok(())
    }
}

impl Table {
    /// Writes a context of an org, as an operator does. That ends its rollout.
    pub fn put_context(&self, org: &OrgId, document: Document) {
        self.put(org, document.context_id().into(), document.to_stored().unwrap());
    }

    /// Writes the budgets of an org, as an operator does.
    pub fn put_budgets(&self, org: &OrgId, budgets: &Budgets) {
        self.put(org, DocumentId::Budgets, serde_json::to_string(budgets).unwrap());
    }

    fn put(&self, org: &OrgId, id: DocumentId, content: String) {
        let head = DocumentHead { content: Some(content), ..DocumentHead::default() };
        self.contents().documents.insert((org.clone(), id), head);
    }

    /// Rolls out a document as a version of its context, as an operator does. The context must exist, and modes have no
    /// rollouts.
    pub fn roll_out(&self, org: &OrgId, document: Document, rollout: Rollout) {
        let (mut contents, id) = (self.contents(), document.context_id());
        let key = (org.clone(), id.clone().into());
        contents.documents.get_mut(&key).unwrap().rollout = Some(rollout);
        let version = StoredVersion {
            number: rollout.version,
            change: Authorship { at: Timestamp::from_millis(0), by: None },
            restored: None,
            hash: None,
            content: Some(document.to_stored().unwrap()),
        };
        contents.versions.insert((org.clone(), id, rollout.version), version);
    }
}

impl Documents for Table {
    async fn live_document(&self, org: &OrgId, id: &DocumentId) -> Result<Option<DocumentHead>, Unavailable> {
        self.document(org, id).await
    }

    async fn document(&self, org: &OrgId, id: &DocumentId) -> Result<Option<DocumentHead>, Unavailable> {
        Ok(self.contents().documents.get(&(org.clone(), id.clone())).cloned())
    }

    async fn contexts(
        &self,
        org: &OrgId,
        kind: ContextKind,
        after: Option<&ContextId>,
        limit: usize,
    ) -> Result<Vec<(ContextId, DocumentHead)>, Unavailable> {
        let contents = self.contents();
        let heads = contents.documents.iter().filter_map(|((owner, id), head)| match id {
            DocumentId::Context(id) if owner == org && id.kind() == kind => Some((id.clone(), head.clone())),
            _ => None,
        });
        let live = heads.filter(|(id, head)| head.content.is_some() && after.is_none_or(|after| id > after));
        Ok(live.take(limit).collect())
    }

    async fn modes(&self, org: &OrgId) -> Result<OrgModes, Unavailable> {
        let heads = self.contexts(org, ContextKind::Mode, None, MAX_MODES).await?;
        let parse = |content: String| Arc::new(serde_json::from_str::<Mode>(&content).unwrap());
        Ok(heads.into_iter().filter_map(|(_, head)| head.content).map(parse).collect())
    }

    async fn context_version(
        &self,
        org: &OrgId,
        id: &ContextId,
        number: u32,
    ) -> Result<Option<StoredVersion>, Unavailable> {
        Ok(self.contents().versions.get(&(org.clone(), id.clone(), number)).cloned())
    }

    async fn context_versions(
        &self,
        org: &OrgId,
        id: &ContextId,
        before: Option<u32>,
        limit: usize,
    ) -> Result<Vec<StoredVersion>, Unavailable> {
        let contents = self.contents();
        let key = |number| (org.clone(), id.clone(), number);
        let range = contents.versions.range(key(0)..key(before.unwrap_or(u32::MAX)));
        let listed = range.rev().map(|(_, version)| StoredVersion { content: None, ..version.clone() });
        Ok(listed.take(limit).collect())
    }
}
