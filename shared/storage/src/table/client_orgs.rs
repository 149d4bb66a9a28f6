//! The orgs of client applications whose tokens name none. Written with AWS credentials alone, because they decide about
//! the tenant of tokens.

use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::AttributeValue;
use contracts::id::OrgId;
use turns::ports::Unavailable;

use super::{
    RESOURCE, Table,
    read::{primary, text, unreadable},
    ttl_cache::TtlCache,
};
use crate::{
    failure,
    item::{Attributes, check_version},
    key::{CLIENTS_PARTITION, Item, MAX_KEY_BYTES, decode_part},
};

/// The most time that a cached org may be stale.
const TTL: Duration = Duration::from_secs(60);
/// The most clients to cache.
const MAX_CLIENTS: usize = 1_000;

/// Recently read orgs, by client. Clients without one are cached too.
pub(super) type ClientOrgCache = TtlCache<String, Option<OrgId>>;

pub(super) fn new_cache() -> ClientOrgCache {
    TtlCache::new(TTL, MAX_CLIENTS)
}

impl Table {
    /// Returns the org of a client application as it was a minute ago or later.
    ///
    /// # Errors
    /// Fails if the table can't be reached or the item can't be read.
    pub async fn client_org(&self, client: &str) -> Result<Option<OrgId>, Unavailable> {
        // The issuer chooses the id. No stored one is empty or longer than a key.
        if !(1..=MAX_KEY_BYTES).contains(&Item::ClientOrg(client).sk().len()) {
            return Ok(None);
        }
        let key = client.to_owned();
        if let Some(org) = self.client_org_cache.get(&key) {
            return Ok(org);
        }
        let began = Instant::now();
        let item = self.get(&Item::ClientOrg(client)).await?;
        let org = item.as_ref().map(org_of).transpose()?.flatten();
        self.client_org_cache.put(key, org.clone(), began);
        Ok(org)
    }

    /// Returns client applications with their orgs, sorted by client, at most `limit`.
    ///
    /// # Errors
    /// Fails if the table can't be reached or an item can't be read.
    pub async fn client_orgs(&self, limit: usize) -> Result<Vec<(String, OrgId)>, Unavailable> {
        let query = self
            .client
            .query()
            .table_name(&self.name)
            .consistent_read(true)
            .key_condition_expression("PK = :clients")
            .expression_attribute_values(":clients", AttributeValue::S(CLIENTS_PARTITION.to_owned()));
        let (mut pages, mut clients) = (query.into_paginator().items().send(), Vec::new());
        while clients.len() < limit {
            let Some(item) = pages.next().await else { break };
            let item = item.map_err(|error| failure::unavailable(RESOURCE, error))?;
            let client = text(&item, "SK").and_then(decode_part);
            clients.extend(client.zip(org_of(&item)?));
        }
        Ok(clients)
    }

    /// Maps a client application to an org, in place of the one before. Authorizers see it within a minute.
    ///
    /// # Errors
    /// Fails if the table can't be reached.
    pub async fn put_client_org(&self, client: &str, org: &OrgId) -> Result<(), Unavailable> {
        let put = self.put_item(&Item::ClientOrg(client)).item("Org", AttributeValue::S(org.to_string()));
        let written = put.send().await.map_err(|error| failure::unavailable(RESOURCE, error));
        self.client_org_cache.remove(&client.to_owned());
        written.map(|_| ())
    }

    /// Removes the org of a client application. Its tokens are refused within a minute.
    ///
    /// # Errors
    /// Fails if the table can't be reached.
    pub async fn remove_client_org(&self, client: &str) -> Result<(), Unavailable> {
        let delete = self.client.delete_item().table_name(&self.name);
        let delete = delete.set_key(Some(primary(&Item::ClientOrg(client))));
        let removed = delete.send().await.map_err(|error| failure::unavailable(RESOURCE, error));
        self.client_org_cache.remove(&client.to_owned());
        removed.map(|_| ())
    }
}

fn org_of(item: &Attributes) -> Result<Option<OrgId>, Unavailable> {
    check_version(item).map_err(unreadable)?;
    Ok(text(item, "Org").and_then(|org| OrgId::new(org).ok()))
}
