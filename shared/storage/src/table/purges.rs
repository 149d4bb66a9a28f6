//! Purges: their records, and the removal of items.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, WriteRequest};
use protocol::{
    id::SessionKey,
    purge::{Purge, PurgeEntry},
};
use turns::ports::{PURGE_ITEM_PAGE_SIZE, Unavailable, WriteError};

use super::{RESOURCE, Table, expression::replace, read::unreadable};
use crate::{
    failure,
    item::{
        Attributes, decode, encode,
        purge::{self, PurgeItem},
    },
    key::{self, Item},
};

/// The most tries of a batch removal. DynamoDB leaves items unprocessed while the table throttles.
const MAX_TRIES: usize = 5;

impl Table {
    pub(super) async fn read_purge(&self, key: &SessionKey) -> Result<Option<Purge>, Unavailable> {
        let item = self.get(&Item::Purge(key)).await?;
        let item = item.map(|item| decode::<PurgeItem>(item).map_err(unreadable)).transpose()?;
        Ok(item.map(|item| item.into_purge(key.clone())))
    }

    pub(super) async fn replace_purge(&self, purge: &Purge) -> Result<(), WriteError> {
        let after = Purge { rev: purge.rev.saturating_add(1), ..purge.clone() };
        let item = encode(&after).map_err(|error| WriteError::Unknown(error.into()))?;
        let rev = AttributeValue::N(purge.rev.to_string());
        let write = replace(item, purge::OPTIONAL).require("Rev", rev);
        self.replace_item(write).await
    }

    pub(super) async fn purgeable_items(&self, session: &SessionKey) -> Result<Vec<PurgeEntry>, Unavailable> {
        let retained = [Item::Session(session).sk(), Item::Purge(session).sk()];
        let limit = PURGE_ITEM_PAGE_SIZE.saturating_add(retained.len());
        let page = self
            .client
            .query()
            .table_name(&self.name)
            .consistent_read(true)
            .key_condition_expression("PK = :session")
            .expression_attribute_values(":session", AttributeValue::S(Item::Session(session).pk()))
            .projection_expression("SK")
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .send()
            .await
            .map_err(|error| failure::unavailable(RESOURCE, error))?;
        let sort_keys =
            page.items.unwrap_or_default().into_iter().filter_map(|mut item| match item.remove("SK") {
                Some(AttributeValue::S(sort_key)) => Some(sort_key),
                _ => None,
            });
        let entries = sort_keys.filter(|sort_key| !retained.contains(sort_key)).map(|sort_key| PurgeEntry {
            kind: key::kind_of_item(&sort_key),
            sort_key,
            bytes: 0,
            payload: None,
        });
        Ok(entries.take(PURGE_ITEM_PAGE_SIZE).collect())
    }

    pub(super) async fn delete_items(
        &self,
        session: &SessionKey,
        items: &[PurgeEntry],
    ) -> Result<(), Unavailable> {
        let pk = Item::Session(session).pk();
        let malformed =
            |error: aws_sdk_dynamodb::error::BuildError| Unavailable { what: RESOURCE, source: error.into() };
        let mut unprocessed = Vec::with_capacity(items.len());
        for entry in items {
            let key = Attributes::from([
                ("PK".to_owned(), AttributeValue::S(pk.clone())),
                ("SK".to_owned(), AttributeValue::S(entry.sort_key.clone())),
            ]);
            let request = DeleteRequest::builder().set_key(Some(key)).build().map_err(malformed)?;
            unprocessed.push(WriteRequest::builder().delete_request(request).build());
        }
        for _ in 0..MAX_TRIES {
            let requests = HashMap::from([(self.name.clone(), unprocessed)]);
            let written = self.client.batch_write_item().set_request_items(Some(requests)).send().await;
            let written = written.map_err(|error| failure::unavailable(RESOURCE, error))?;
            unprocessed =
                written.unprocessed_items.unwrap_or_default().remove(&self.name).unwrap_or_default();
            if unprocessed.is_empty() {
                return Ok(());
            }
        }
        Err(Unavailable { what: RESOURCE, source: "a batch of removals stayed incomplete".into() })
    }
}
