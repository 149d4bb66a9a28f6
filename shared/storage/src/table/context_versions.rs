//! Contexts and modes with their versions, for those who edit them.

use agent::context::{ContextId, ContextKind, Rollout};
use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem};
use contracts::id::OrgId;
use turns::ports::{
    ContextChange, ContextHead, ContextReads, ContextStore, Source, StoredVersion, Unavailable, WriteError,
};

use super::{
    RESOURCE, Table,
    expression::{Expression, replace},
    read::{text, unreadable},
};
use crate::{
    failure,
    item::{
        Attributes,
        context::{ContextItem, OPTIONAL},
        decode, encode_item,
    },
    key::{AGENT_PREFIX, CONVERSATION_PREFIX, Item, MODE_PREFIX, decode_part},
};

/// The attributes of a version that lists show.
const LISTED: &str = "V, #version, Changed, ChangedBy, ChangedByName, RestoredVersion, ContentHash";

impl ContextReads for Table {
    async fn context_head(&self, org: &OrgId, id: &ContextId) -> Result<Option<ContextHead>, Unavailable> {
        let item = self.get(&head_key(org, id)).await?;
        item.map(head_of).transpose()
    }

    async fn context_heads(
        &self,
        org: &OrgId,
        kind: ContextKind,
        after: Option<&ContextId>,
        limit: usize,
    ) -> Result<Vec<(ContextId, ContextHead)>, Unavailable> {
        let prefix = prefix_of(kind);
        let after = after.map(|id| head_key(org, id));
        let items = self.items_of_kind(org, prefix, after, limit).await?;
        let mut heads = Vec::with_capacity(items.len());
        for item in items {
            let id = text(&item, "SK").and_then(|key| decode_part(key.strip_prefix(prefix)?));
            if let Some(id) = id.and_then(|id| kind.id(&id).ok()) {
                heads.push((id, head_of(item)?));
            }
        }
        Ok(heads)
    }

    async fn context_version(
        &self,
        org: &OrgId,
        id: &ContextId,
        number: u32,
    ) -> Result<Option<StoredVersion>, Unavailable> {
        let item = self.get(&version_key(org, id, number)).await?;
        Ok(item.map(version_of).transpose()?.flatten())
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
        let (first, last) = (version_key(org, id, 0), version_key(org, id, last));
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

impl ContextStore for Table {
    async fn change_context(
        &self,
        org: &OrgId,
        id: &ContextId,
        change: &ContextChange,
    ) -> Result<(), WriteError> {
        let key = head_key(org, id);
        let items = self.changes(org, id, change).map_err(WriteError::Unknown)?;
        let written = self
            .client
            .transact_write_items()
            .set_transact_items(Some(items))
            .send()
            .await
            .map_err(failure::transaction_error);
        // Turns of this process see the change at once, turns of other processes within the cache's time.
        self.context_cache.remove(&(key.pk(), key.sk()));
        self.mode_cache.remove(org);
        written.map(|_| ())
    }
}

impl Table {
    fn changes(
        &self,
        org: &OrgId,
        id: &ContextId,
        change: &ContextChange,
    ) -> Result<Vec<TransactWriteItem>, Source> {
        let mut items = Vec::with_capacity(change.versions.len().saturating_add(1));
        for version in &change.versions {
            let key = version_key(org, id, version.number);
            let item = encode_item(&key, &ContextItem::from(version))?;
            items.push(self.put(item, Some("attribute_not_exists(PK)"))?);
        }
        let head = encode_item(&head_key(org, id), &ContextItem::from(&change.after))?;
        items.push(self.update(with_condition(replace(head, OPTIONAL), change.before.as_ref()))?);
        Ok(items)
    }
}

/// Adds the condition that the head is as it was read. Every change of the content has a new version, unless it was
/// written without one: then the content is compared. A rollout keeps the version, so it is compared too.
fn with_condition(write: Expression, before: Option<&ContextHead>) -> Expression {
    let Some(ContextHead { version, content, rollout, .. }) = before else {
        return write.require_absent("PK");
    };
    let number = |number: u32| AttributeValue::N(number.to_string());
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

fn head_key<'a>(org: &'a OrgId, id: &'a ContextId) -> Item<'a> {
    match id {
        ContextId::Agent(id) => Item::Agent(org, id),
        ContextId::Conversation(id) => Item::Conversation(org, id),
        ContextId::Mode(key) => Item::Mode(org, key),
    }
}

fn version_key<'a>(org: &'a OrgId, id: &'a ContextId, number: u32) -> Item<'a> {
    match id {
        ContextId::Agent(id) => Item::AgentVersion(org, id, number),
        ContextId::Conversation(id) => Item::ConversationVersion(org, id, number),
        ContextId::Mode(key) => Item::ModeVersion(org, key, number),
    }
}

pub(super) fn prefix_of(kind: ContextKind) -> &'static str {
    match kind {
        ContextKind::Agent => AGENT_PREFIX,
        ContextKind::Conversation => CONVERSATION_PREFIX,
        ContextKind::Mode => MODE_PREFIX,
    }
}

fn head_of(item: Attributes) -> Result<ContextHead, Unavailable> {
    decode::<ContextItem>(item).map(ContextItem::into_head).map_err(unreadable)
}

fn version_of(item: Attributes) -> Result<Option<StoredVersion>, Unavailable> {
    decode::<ContextItem>(item).map(ContextItem::into_version).map_err(unreadable)
}
