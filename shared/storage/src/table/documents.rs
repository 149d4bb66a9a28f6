//! The documents of orgs: contexts and modes with their versions, budgets, and settings. They are read often and written
//! rarely, so each process caches them for a while.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use agent::{
    context::{ContextId, ContextKind, Rollout},
    mode::{MAX_MODES, Mode},
};
use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem};
use contracts::{error::JsonError, id::OrgId};
use turns::ports::{
    DocumentChange, DocumentHead, DocumentId, Documents, OrgModes, Source, StoredVersion, Unavailable,
    WriteError,
};

use super::{
    RESOURCE, Table,
    expression::{Expression, replace},
    read::{primary, text, unreadable},
    ttl_cache::TtlCache,
};
use crate::{
    failure,
    item::{
        Attributes, Unreadable, decode,
        document::{DocumentItem, OPTIONAL},
        encode_item,
    },
    key::{Item, context_prefix, decode_part, org_index},
};

/// The most time that a cached document may be stale.
const TTL: Duration = Duration::from_secs(60);
/// The same for budgets. Shorter, because a lowered limit has to stop spending.
const BUDGETS_TTL: Duration = Duration::from_secs(10);
/// The most documents, and the most orgs, to cache of each kind.
const MAX_ENTRIES: usize = 1_000;

/// The attributes of a version that lists show.
const LISTED: &str = "V, #version, Changed, ChangedBy, ChangedByName, RestoredVersion, ContentHash";

/// A partition and a sort key.
type Keys = (String, String);

/// Recently read documents.
#[derive(Debug, Clone)]
pub(super) struct DocumentCaches {
    contexts: TtlCache<Keys, Option<DocumentHead>>,
    versions: TtlCache<Keys, StoredVersion>,
    /// The modes of orgs. Orgs without any are cached too, so that their turns pay for no read each. So are those without
    /// budgets or settings.
    modes: TtlCache<OrgId, OrgModes>,
    budgets: TtlCache<Keys, Option<DocumentHead>>,
    org_settings: TtlCache<Keys, Option<DocumentHead>>,
}

impl DocumentCaches {
    pub(super) fn new() -> Self {
        Self {
            contexts: TtlCache::new(TTL, MAX_ENTRIES),
            versions: TtlCache::new(TTL, MAX_ENTRIES),
            modes: TtlCache::new(TTL, MAX_ENTRIES),
            budgets: TtlCache::new(BUDGETS_TTL, MAX_ENTRIES),
            org_settings: TtlCache::new(TTL, MAX_ENTRIES),
        }
    }

    fn of(&self, id: &DocumentId) -> &TtlCache<Keys, Option<DocumentHead>> {
        match id {
            DocumentId::Context(_) => &self.contexts,
            DocumentId::Budgets => &self.budgets,
            DocumentId::OrgSettings => &self.org_settings,
        }
    }
}

impl Documents for Table {
    async fn live_document(&self, org: &OrgId, id: &DocumentId) -> Result<Option<DocumentHead>, Unavailable> {
        let (cache, keys) = (self.documents.of(id), keys(&Item::Document(org, id)));
        if let Some(found) = cache.get(&keys) {
            return Ok(found);
        }
        let began = Instant::now();
        let found = self.document(org, id).await?;
        let exists = found.as_ref().is_some_and(|head| head.content.is_some());
        if exists || !matches!(id, DocumentId::Context(_)) {
            cache.put(keys, found.clone(), began);
        }
        Ok(found)
    }

    async fn document(&self, org: &OrgId, id: &DocumentId) -> Result<Option<DocumentHead>, Unavailable> {
        let Some(item) = self.get(&Item::Document(org, id)).await? else { return Ok(None) };
        let head = head_of(item)?;
        match (id, &head.content) {
            (DocumentId::Budgets | DocumentId::OrgSettings, None) => {
                Err(unreadable(Unreadable::Lacks("Document")))
            }
            _ => Ok(Some(head)),
        }
    }

    async fn contexts(
        &self,
        org: &OrgId,
        kind: ContextKind,
        after: Option<&ContextId>,
        limit: usize,
    ) -> Result<Vec<(ContextId, DocumentHead)>, Unavailable> {
        let prefix = context_prefix(kind);
        let after = after.map(|id| DocumentId::from(id.clone()));
        let query = self
            .client
            .query()
            .table_name(&self.name)
            .key_condition_expression("PK = :org AND begins_with(SK, :kind)")
            .expression_attribute_values(":org", AttributeValue::S(org_index(org)))
            .expression_attribute_values(":kind", AttributeValue::S(prefix.to_owned()))
            .consistent_read(true)
            .set_exclusive_start_key(after.as_ref().map(|id| primary(&Item::Document(org, id))))
            .limit(i32::try_from(limit).unwrap_or(i32::MAX));
        let (mut pages, mut heads) = (query.into_paginator().items().send(), Vec::new());
        while heads.len() < limit {
            let Some(item) = pages.next().await else { break };
            let item = item.map_err(|error| failure::unavailable(RESOURCE, error))?;
            let id = text(&item, "SK").and_then(|key| decode_part(key.strip_prefix(prefix)?));
            let id = id.and_then(|id| kind.id(&id).ok());
            if let (Some(id), false) = (id, item.contains_key("IsDeleted")) {
                heads.push((id, head_of(item)?));
            }
        }
        Ok(heads)
    }

    async fn modes(&self, org: &OrgId) -> Result<OrgModes, Unavailable> {
        if let Some(modes) = self.documents.modes.get(org) {
            return Ok(modes);
        }
        let began = Instant::now();
        let heads = self.contexts(org, ContextKind::Mode, None, MAX_MODES).await?;
        let parse = |content: &str| serde_json::from_str::<Mode>(content).map(Arc::new);
        let modes = heads.iter().map(|(_, head)| parse(head.content.as_deref().unwrap_or_default()));
        // A mode is confidential to its org, so the error has the location but never the content (I14).
        let modes: OrgModes = modes
            .collect::<Result<_, _>>()
            .map_err(|error| Unavailable { what: "a context", source: JsonError::from(&error).into() })?;
        self.documents.modes.put(org.clone(), Arc::clone(&modes), began);
        Ok(modes)
    }

    async fn context_version(
        &self,
        org: &OrgId,
        id: &ContextId,
        number: u32,
    ) -> Result<Option<StoredVersion>, Unavailable> {
        let item = Item::ContextVersion(org, id, number);
        let (keys, began) = (keys(&item), Instant::now());
        if let Some(found) = self.documents.versions.get(&keys) {
            return Ok(Some(found));
        }
        let found = self.get(&item).await?.map(version_of).transpose()?.flatten();
        if let Some(found) = &found {
            self.documents.versions.put(keys, found.clone(), began);
        }
        Ok(found)
    }

    async fn context_versions(
        &self,
        org: &OrgId,
        id: &ContextId,
        before: Option<u32>,
        limit: usize,
    ) -> Result<Vec<StoredVersion>, Unavailable> {
        let last = match before {
            // There is none before the first.
            Some(0 | 1) => return Ok(Vec::new()),
            Some(before) => before.saturating_sub(1),
            None => u32::MAX,
        };
        let (first, last) = (Item::ContextVersion(org, id, 0), Item::ContextVersion(org, id, last));
        let page = self
            .client
            .query()
            .table_name(&self.name)
            .consistent_read(true)
            .key_condition_expression("PK = :context AND SK BETWEEN :first AND :last")
            .expression_attribute_values(":context", AttributeValue::S(first.pk()))
            .expression_attribute_values(":first", AttributeValue::S(first.sk()))
            .expression_attribute_values(":last", AttributeValue::S(last.sk()))
            .projection_expression(LISTED)
            .expression_attribute_names("#version", "Version")
            .scan_index_forward(false)
            .limit(i32::try_from(limit).unwrap_or(i32::MAX));
        let (mut pages, mut versions) = (page.into_paginator().items().send(), Vec::new());
        while versions.len() < limit {
            let Some(item) = pages.next().await else { break };
            let item = item.map_err(|error| failure::unavailable(RESOURCE, error))?;
            versions.extend(version_of(item)?);
        }
        Ok(versions)
    }
}

impl Table {
    pub(super) async fn change(
        &self,
        org: &OrgId,
        id: &DocumentId,
        change: &DocumentChange,
    ) -> Result<(), WriteError> {
        let written = match id {
            DocumentId::Context(context) => self.change_context(org, context, id, change).await,
            DocumentId::Budgets | DocumentId::OrgSettings => self.replace(org, id, change).await,
        };
        // Turns of this process see the change at once, turns of other processes within the cache's time.
        self.documents.of(id).remove(&keys(&Item::Document(org, id)));
        self.documents.modes.remove(org);
        written
    }

    /// Replaces a document without versions if its revision is the one before. A document that an older version wrote has
    /// none.
    async fn replace(&self, org: &OrgId, id: &DocumentId, change: &DocumentChange) -> Result<(), WriteError> {
        let DocumentHead { content, version, .. } = &change.after;
        let put = self
            .put_item(&Item::Document(org, id))
            .item("Revision", number(version.unwrap_or_default()))
            .item("Document", AttributeValue::S(content.clone().unwrap_or_default()));
        let put = match change.before.as_ref().and_then(|before| before.version) {
            None => put.condition_expression("attribute_not_exists(Revision)"),
            Some(before) => put
                .condition_expression("Revision = :before")
                .expression_attribute_values(":before", number(before)),
        };
        put.send().await.map(|_| ()).map_err(failure::write_error)
    }

    async fn change_context(
        &self,
        org: &OrgId,
        context: &ContextId,
        id: &DocumentId,
        change: &DocumentChange,
    ) -> Result<(), WriteError> {
        let items = self.changes(org, context, id, change).map_err(WriteError::Unknown)?;
        let request = self.client.transact_write_items().set_transact_items(Some(items));
        request.send().await.map(|_| ()).map_err(failure::transaction_error)
    }

    fn changes(
        &self,
        org: &OrgId,
        context: &ContextId,
        id: &DocumentId,
        change: &DocumentChange,
    ) -> Result<Vec<TransactWriteItem>, Source> {
        let mut items = Vec::with_capacity(change.versions.len().saturating_add(1));
        for version in &change.versions {
            let key = Item::ContextVersion(org, context, version.number);
            let item = encode_item(&key, &DocumentItem::from(version))?;
            items.push(self.put(item, Some("attribute_not_exists(PK)"))?);
        }
        let head = encode_item(&Item::Document(org, id), &DocumentItem::from(&change.after))?;
        items.push(self.update(with_condition(replace(head, OPTIONAL), change.before.as_ref()))?);
        Ok(items)
    }
}

/// Adds the condition that the head is as it was read. Every change of the content has a new version, unless it was
/// written without one: then the content is compared. A rollout keeps the version, so it is compared too.
fn with_condition(write: Expression, before: Option<&DocumentHead>) -> Expression {
    let Some(DocumentHead { version, content, rollout, .. }) = before else {
        return write.require_absent("PK");
    };
    let write = match version {
        Some(version) => write.require("Version", number(*version)),
        None => {
            let content = content.clone().unwrap_or_default();
            write.require_absent("Version").require("Document", AttributeValue::S(content))
        }
    };
    match rollout {
        Some(Rollout { version, percent }) => write
            .require("RolloutVersion", number(*version))
            .require("RolloutPercent", number((*percent).into())),
        None => write.require_absent("RolloutVersion"),
    }
}

fn number(number: u32) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

fn keys(item: &Item<'_>) -> Keys {
    (item.pk(), item.sk())
}

fn head_of(item: Attributes) -> Result<DocumentHead, Unavailable> {
    decode::<DocumentItem>(item).map(DocumentItem::into_head).map_err(unreadable)
}

fn version_of(item: Attributes) -> Result<Option<StoredVersion>, Unavailable> {
    decode::<DocumentItem>(item).map(DocumentItem::into_version).map_err(unreadable)
}
