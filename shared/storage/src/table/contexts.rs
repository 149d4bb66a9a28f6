//! Contexts and modes. They are read often and written rarely, so they are cached for a minute.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use agent::{
    context::{ContextKind, Document, Rollout},
    mode::{MAX_MODES, Mode},
};
use aws_sdk_dynamodb::types::AttributeValue;
use contracts::{
    error::JsonError,
    id::{AgentContextId, ConversationContextId, OrgId},
};
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use turns::ports::{AgentEntry, LiveContext, OrgModes, Unavailable};

use super::{
    RESOURCE, Table,
    context_versions::prefix_of,
    read::{primary, text, unreadable},
    ttl_cache::TtlCache,
};
use crate::{
    failure,
    item::{Attributes, check_version, context::ContextItem, decode},
    key::{AGENT_PREFIX, Item, MODE_PREFIX, decode_part, org_index},
};

/// The most time that a cached context may be stale.
const TTL: Duration = Duration::from_secs(60);
/// The most orgs whose modes are cached.
const MAX_ORGS: usize = 1_000;
/// The most contexts to cache.
const MAX_CONTEXTS: usize = 1_000;

/// Recently read contexts, by partition and sort key.
pub(super) type ContextCache = TtlCache<(String, String), CachedContext>;

/// A context as it was read.
#[derive(Debug, Clone)]
pub(super) struct CachedContext {
    /// The content as JSON.
    document: String,
    /// The rollout of another version.
    rollout: Option<Rollout>,
}

/// Recently read modes, by org. Orgs without any are cached too, so their turns pay for no read each.
pub(super) type ModeCache = TtlCache<OrgId, OrgModes>;

pub(super) fn new_cache() -> ContextCache {
    TtlCache::new(TTL, MAX_CONTEXTS)
}

pub(super) fn new_mode_cache() -> ModeCache {
    TtlCache::new(TTL, MAX_ORGS)
}

/// The part of an agent context that lists need.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ListedAgent {
    deprecated: Option<IgnoredAny>,
    default_conversation_context_id: Option<ConversationContextId>,
}

impl Table {
    pub(super) async fn context<T: DeserializeOwned>(
        &self,
        key: Item<'_>,
    ) -> Result<Option<LiveContext<T>>, Unavailable> {
        let keys = (key.pk(), key.sk());
        let found = match self.context_cache.get(&keys) {
            Some(found) => found,
            None => {
                let began = Instant::now();
                let Some(item) = self.get(&key).await? else { return Ok(None) };
                let head = decode::<ContextItem>(item).map_err(unreadable)?.into_head();
                // A deleted context has no content. Absence isn't cached, so that a new context works at once.
                let Some(document) = head.content else { return Ok(None) };
                let found = CachedContext { document, rollout: head.rollout };
                self.context_cache.put(keys, found.clone(), began);
                found
            }
        };
        let CachedContext { document, rollout } = found;
        Ok(Some(LiveContext { content: read(&document)?, rollout }))
    }

    pub(super) async fn read_agents(
        &self,
        org: &OrgId,
        limit: usize,
    ) -> Result<Vec<AgentEntry>, Unavailable> {
        let items = self.items_of_kind(org, AGENT_PREFIX, None, limit).await?;
        let mut agents = Vec::with_capacity(items.len());
        for item in items {
            let id = text(&item, "SK").and_then(|key| decode_part(key.strip_prefix(AGENT_PREFIX)?));
            if let Some(id) = id.and_then(|id| AgentContextId::new(id).ok()) {
                let head = decode::<ContextItem>(item).map_err(unreadable)?.into_head();
                let listed: ListedAgent = read(&head.content.unwrap_or_default())?;
                agents.push(AgentEntry {
                    id,
                    is_deprecated: listed.deprecated.is_some(),
                    default_conversation: listed.default_conversation_context_id,
                    rollout: head.rollout,
                });
            }
        }
        Ok(agents)
    }

    pub(super) async fn read_modes(&self, org: &OrgId) -> Result<OrgModes, Unavailable> {
        if let Some(modes) = self.mode_cache.get(org) {
            return Ok(modes);
        }
        let began = Instant::now();
        let items = self.items_of_kind(org, MODE_PREFIX, None, MAX_MODES).await?;
        let modes = items.into_iter().map(|item| {
            check_version(&item).map_err(unreadable)?;
            read::<Mode>(text(&item, "Document").unwrap_or_default()).map(Arc::new)
        });
        let modes: OrgModes = modes.collect::<Result<_, _>>()?;
        self.mode_cache.put(org.clone(), Arc::clone(&modes), began);
        Ok(modes)
    }

    /// Reads at most `limit` contexts of a kind that aren't deleted, after this one, from as many pages of the table as
    /// that takes. Reads consistently.
    pub(super) async fn items_of_kind(
        &self,
        org: &OrgId,
        prefix: &str,
        after: Option<Item<'_>>,
        limit: usize,
    ) -> Result<Vec<Attributes>, Unavailable> {
        let query = self
            .client
            .query()
            .table_name(&self.name)
            .key_condition_expression("PK = :org AND begins_with(SK, :kind)")
            .expression_attribute_values(":org", AttributeValue::S(org_index(org)))
            .expression_attribute_values(":kind", AttributeValue::S(prefix.to_owned()))
            .consistent_read(true)
            .set_exclusive_start_key(after.as_ref().map(primary))
            .limit(i32::try_from(limit).unwrap_or(i32::MAX));
        let (mut pages, mut items) = (query.into_paginator().items().send(), Vec::new());
        while items.len() < limit {
            let Some(item) = pages.next().await else { break };
            let item = item.map_err(|error| failure::unavailable(RESOURCE, error))?;
            if !item.contains_key("IsDeleted") {
                items.push(item);
            }
        }
        Ok(items)
    }
}

impl Table {
    /// Returns the contexts and modes of an org by kind, sorted by id. At most `limit` of each kind.
    ///
    /// # Errors
    /// Fails if the table can't be reached or an item can't be read.
    pub async fn contexts(&self, org: &OrgId, limit: u16) -> Result<Vec<Document>, Unavailable> {
        let mut documents = Vec::new();
        for kind in ContextKind::ALL {
            for item in self.items_of_kind(org, prefix_of(kind), None, limit.into()).await? {
                check_version(&item).map_err(unreadable)?;
                let document = Document::from_stored(kind, text(&item, "Document").unwrap_or_default());
                documents.push(document.map_err(|error| malformed(&error))?);
            }
        }
        Ok(documents)
    }
}

fn read<T: DeserializeOwned>(document: &str) -> Result<T, Unavailable> {
    serde_json::from_str(document).map_err(|error| malformed(&error))
}

/// A context's prompt is confidential to its org. The error gives the location but never the content (I14).
fn malformed(error: &serde_json::Error) -> Unavailable {
    Unavailable { what: "a context", source: JsonError::from(error).into() }
}

#[cfg(test)]
mod tests {
    use agent::context::ConversationContext;
    use contracts::error::causes;

    use super::*;

    #[test]
    fn unreadable_context_error_hides_its_content() {
        for document in
            [r#"{"Id":"c","Marker":"marker"}"#, r#"{"Id":{"marker":1}}"#, r#"{"Id":marker"#, "\"marker\""]
        {
            let error = read::<ConversationContext>(document).unwrap_err();
            let message = causes(&error).to_string();
            assert!(
                message.starts_with("a context is unavailable: ") && message.contains(" line 1"),
                "{message}"
            );
            assert!(!format!("{message}{error:?}").to_lowercase().contains("marker"), "{error:?}");
        }
    }
}
