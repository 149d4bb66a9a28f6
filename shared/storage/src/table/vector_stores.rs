//! The vector stores of orgs.

use aws_sdk_dynamodb::types::AttributeValue;
use contracts::{Timestamp, id::OrgId};
use knowledge::{VectorStoreId, ports::VectorStores, vector_store::VectorStore};
use turns::ports::{Unavailable, WriteError};

use super::{
    RESOURCE, Table,
    read::{primary, text, unreadable},
};
use crate::{
    failure,
    item::{Attributes, decode, encode_item},
    key::{Item, VECTOR_STORE_PREFIX, org_index},
};

impl VectorStores for Table {
    async fn vector_store(
        &self,
        org: &OrgId,
        id: &VectorStoreId,
    ) -> Result<Option<VectorStore>, Unavailable> {
        let item = self.get(&Item::VectorStore(org, id)).await?.filter(is_live);
        item.map(|item| decode(item).map_err(unreadable)).transpose()
    }

    async fn vector_stores(
        &self,
        org: &OrgId,
        limit: usize,
    ) -> Result<Vec<(VectorStoreId, VectorStore)>, Unavailable> {
        let query = self
            .client
            .query()
            .table_name(&self.name)
            .key_condition_expression("PK = :org AND begins_with(SK, :kind)")
            .expression_attribute_values(":org", AttributeValue::S(org_index(org)))
            .expression_attribute_values(":kind", AttributeValue::S(VECTOR_STORE_PREFIX.to_owned()))
            .consistent_read(true)
            .limit(i32::try_from(limit).unwrap_or(i32::MAX));
        let (mut pages, mut found) = (query.into_paginator().items().send(), Vec::new());
        while found.len() < limit {
            let Some(item) = pages.next().await else { break };
            let item = item.map_err(|error| failure::unavailable(RESOURCE, error))?;
            let id = text(&item, "SK").and_then(|key| key.strip_prefix(VECTOR_STORE_PREFIX)?.parse().ok());
            if let Some(id) = id.filter(|_| is_live(&item)) {
                found.push((id, decode(item).map_err(unreadable)?));
            }
        }
        Ok(found)
    }

    async fn create_vector_store(
        &self,
        org: &OrgId,
        id: &VectorStoreId,
        store: &VectorStore,
    ) -> Result<(), WriteError> {
        put(self, org, id, store, "attribute_not_exists(PK)").await
    }

    async fn replace_vector_store(
        &self,
        org: &OrgId,
        id: &VectorStoreId,
        store: &VectorStore,
    ) -> Result<(), WriteError> {
        put(self, org, id, store, "attribute_exists(PK) AND attribute_not_exists(ExpiresAt)").await
    }

    // The functions of clients may not delete items, so the table's expiry does.
    async fn remove_vector_store(
        &self,
        org: &OrgId,
        id: &VectorStoreId,
        now: Timestamp,
    ) -> Result<(), WriteError> {
        let update = self
            .client
            .update_item()
            .table_name(&self.name)
            .set_key(Some(primary(&Item::VectorStore(org, id))))
            .update_expression("SET ExpiresAt = :now")
            .condition_expression("attribute_exists(PK)")
            .expression_attribute_values(":now", AttributeValue::N((now.as_millis() / 1_000).to_string()));
        match update.send().await.map(|_| ()).map_err(failure::write_error) {
            Err(WriteError::ConditionFailed) => Ok(()),
            removed => removed,
        }
    }
}

/// True for a store that wasn't removed.
fn is_live(item: &Attributes) -> bool {
    !item.contains_key("ExpiresAt")
}

async fn put(
    table: &Table,
    org: &OrgId,
    id: &VectorStoreId,
    store: &VectorStore,
    condition: &str,
) -> Result<(), WriteError> {
    let item = encode_item(&Item::VectorStore(org, id), store);
    let item = item.map_err(|error| WriteError::Unknown(error.into()))?;
    let put = table.client.put_item().table_name(&table.name).set_item(Some(item));
    put.condition_expression(condition).send().await.map(|_| ()).map_err(failure::write_error)
}
