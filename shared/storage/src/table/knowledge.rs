//! The records of documents for the agents of orgs.

use aws_sdk_dynamodb::types::AttributeValue;
use contracts::id::OrgId;
use knowledge::{
    DocumentId, Record,
    ports::{Records, Stored},
};
use serde::{Deserialize, Serialize};
use turns::ports::{Unavailable, WriteError};

use super::{
    RESOURCE, Table,
    read::{primary, text, unreadable},
};
use crate::{
    failure,
    item::{Attributes, decode, encode_item},
    key::{Item, KNOWLEDGE_PREFIX, org_index},
};

/// See [`Item::Knowledge`].
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct KnowledgeItem {
    /// The number of writes.
    revision: u32,
    record: Record,
}

impl Records for Table {
    async fn record(&self, org: &OrgId, id: &DocumentId) -> Result<Option<Stored>, Unavailable> {
        let item = self.get(&Item::Knowledge(org, id)).await?;
        item.map(stored).transpose()
    }

    async fn records(
        &self,
        org: &OrgId,
        after: Option<&DocumentId>,
        limit: usize,
    ) -> Result<Vec<(DocumentId, Record)>, Unavailable> {
        let query = self
            .client
            .query()
            .table_name(&self.name)
            .key_condition_expression("PK = :org AND begins_with(SK, :kind)")
            .expression_attribute_values(":org", AttributeValue::S(org_index(org)))
            .expression_attribute_values(":kind", AttributeValue::S(KNOWLEDGE_PREFIX.to_owned()))
            .consistent_read(true)
            .set_exclusive_start_key(after.map(|id| primary(&Item::Knowledge(org, id))))
            .limit(i32::try_from(limit).unwrap_or(i32::MAX));
        let (mut pages, mut found) = (query.into_paginator().items().send(), Vec::new());
        while found.len() < limit {
            let Some(item) = pages.next().await else { break };
            let item = item.map_err(|error| failure::unavailable(RESOURCE, error))?;
            let id = text(&item, "SK").and_then(|key| key.strip_prefix(KNOWLEDGE_PREFIX)?.parse().ok());
            if let Some(id) = id {
                found.push((id, stored(item)?.record));
            }
        }
        Ok(found)
    }

    async fn put_record(
        &self,
        org: &OrgId,
        id: &DocumentId,
        record: &Record,
        before: Option<u32>,
    ) -> Result<(), WriteError> {
        let revision = before.map_or(1, |before| before.saturating_add(1));
        let item = KnowledgeItem { revision, record: record.clone() };
        let item = encode_item(&Item::Knowledge(org, id), &item);
        let item = item.map_err(|error| WriteError::Unknown(error.into()))?;
        let put = self.client.put_item().table_name(&self.name).set_item(Some(item));
        let put = match before {
            None => put.condition_expression("attribute_not_exists(PK)"),
            Some(before) => put
                .condition_expression("Revision = :before")
                .expression_attribute_values(":before", AttributeValue::N(before.to_string())),
        };
        put.send().await.map(|_| ()).map_err(failure::write_error)
    }

    async fn remove_record(&self, org: &OrgId, id: &DocumentId, before: u32) -> Result<(), WriteError> {
        let delete = self
            .client
            .delete_item()
            .table_name(&self.name)
            .set_key(Some(primary(&Item::Knowledge(org, id))))
            .condition_expression("Revision = :before")
            .expression_attribute_values(":before", AttributeValue::N(before.to_string()));
        delete.send().await.map(|_| ()).map_err(failure::write_error)
    }
}

fn stored(item: Attributes) -> Result<Stored, Unavailable> {
    let KnowledgeItem { revision, record } = decode(item).map_err(unreadable)?;
    Ok(Stored { record, revision })
}
