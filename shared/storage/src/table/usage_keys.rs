//! The API keys that requests of orgs and users count against. Written with AWS credentials alone, because a key that is
//! not in the usage plan locks its callers out.

use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::AttributeValue;
use turns::ports::{Unavailable, UsageKey, UsageKeyHolder};

use super::{
    RESOURCE, Table,
    read::{primary, text, unreadable},
    ttl_cache::TtlCache,
};
use crate::{
    failure,
    item::{Attributes, Unreadable, check_version},
    key::{Item, USAGE_KEYS_PARTITION},
};

/// The most time that a cached key may be stale.
const TTL: Duration = Duration::from_secs(60);
/// The most holders to cache: as many as a region has keys.
const MAX_HOLDERS: usize = 10_000;

/// Recently read keys, by holder. Holders without one are cached too.
pub(super) type UsageKeyCache = TtlCache<UsageKeyHolder, Option<UsageKey>>;

pub(super) fn new_cache() -> UsageKeyCache {
    TtlCache::new(TTL, MAX_HOLDERS)
}

impl Table {
    /// Returns the key of a holder as it was a minute ago or later.
    ///
    /// # Errors
    /// Fails if the table can't be reached or the item can't be read. A holder whose key is unreadable is never one without
    /// a key.
    pub async fn usage_key(&self, holder: &UsageKeyHolder) -> Result<Option<UsageKey>, Unavailable> {
        if let Some(key) = self.usage_key_cache.get(holder) {
            return Ok(key);
        }
        let began = Instant::now();
        let item = self.get(&Item::UsageKey(holder)).await?;
        let key = item.as_ref().map(key_of).transpose()?;
        self.usage_key_cache.put(holder.clone(), key.clone(), began);
        Ok(key)
    }

    /// Returns holders with their keys, sorted by org, at most `limit`.
    ///
    /// # Errors
    /// Fails if the table can't be reached or an item can't be read.
    pub async fn usage_keys(&self, limit: usize) -> Result<Vec<(UsageKeyHolder, UsageKey)>, Unavailable> {
        let query = self
            .client
            .query()
            .table_name(&self.name)
            .consistent_read(true)
            .key_condition_expression("PK = :keys")
            .expression_attribute_values(":keys", AttributeValue::S(USAGE_KEYS_PARTITION.to_owned()));
        let (mut pages, mut keys) = (query.into_paginator().items().send(), Vec::new());
        while keys.len() < limit {
            let Some(item) = pages.next().await else { break };
            let item = item.map_err(|error| failure::unavailable(RESOURCE, error))?;
            keys.push((holder_of(&item)?, key_of(&item)?));
        }
        Ok(keys)
    }

    /// Gives a holder a key, in place of the one before. Authorizers see it within a minute.
    ///
    /// # Errors
    /// Fails if the table can't be reached.
    pub async fn put_usage_key(&self, holder: &UsageKeyHolder, key: &UsageKey) -> Result<(), Unavailable> {
        let mut put = self.put_item(&Item::UsageKey(holder)).item("Org", string(holder.org.as_str()));
        if let Some(user) = &holder.user {
            put = put.item("User", string(user.as_str()));
        }
        let written = put.item("UsageKey", string(key.as_str())).send().await;
        self.usage_key_cache.remove(holder);
        written.map(|_| ()).map_err(|error| failure::unavailable(RESOURCE, error))
    }

    /// Removes the key of a holder.
    ///
    /// # Errors
    /// Fails if the table can't be reached.
    pub async fn remove_usage_key(&self, holder: &UsageKeyHolder) -> Result<(), Unavailable> {
        let delete = self.client.delete_item().table_name(&self.name);
        let removed = delete.set_key(Some(primary(&Item::UsageKey(holder)))).send().await;
        self.usage_key_cache.remove(holder);
        removed.map(|_| ()).map_err(|error| failure::unavailable(RESOURCE, error))
    }
}

fn string(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

fn key_of(item: &Attributes) -> Result<UsageKey, Unavailable> {
    check_version(item).map_err(unreadable)?;
    let key = text(item, "UsageKey").and_then(|key| UsageKey::new(key).ok());
    key.ok_or_else(|| unreadable(Unreadable::Lacks("UsageKey")))
}

fn holder_of(item: &Attributes) -> Result<UsageKeyHolder, Unavailable> {
    let org = text(item, "Org").and_then(|org| org.parse().ok());
    let org = org.ok_or_else(|| unreadable(Unreadable::Lacks("Org")))?;
    let user =
        text(item, "User").map(str::parse).transpose().map_err(|_| unreadable(Unreadable::Lacks("User")))?;
    Ok(UsageKeyHolder { org, user })
}
