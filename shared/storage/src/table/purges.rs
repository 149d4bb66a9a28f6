//! Purges: their records, and what they remove.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, WriteRequest};
use contracts::Timestamp;
use protocol::{
    id::SessionKey,
    purge::{Piece, Purge},
};
use turns::ports::{PURGED_ITEMS, Page, PurgeStore, Unavailable, WriteError};

use super::{
    Table, WHAT,
    expression::replace,
    read::{text, unreadable},
};
use crate::{
    failure,
    item::{
        Attributes, decode, encode,
        purge::{self, PurgeItem},
    },
    key::{self, Item},
};

/// How often a batch of removals asks again for what was not done.
const BATCH_TRIES: usize = 5;

impl Table {
    pub(super) async fn record_of_purge(&self, key: &SessionKey) -> Result<Option<Purge>, Unavailable> {
        let item = self.get(&Item::Purge(key)).await?;
        let item = item.map(|item| decode::<PurgeItem>(item).map_err(unreadable)).transpose()?;
        Ok(item.map(|item| item.into_purge(key.clone())))
    }
}

impl PurgeStore for Table {
    async fn write_purge(&self, purge: &Purge) -> Result<(), WriteError> {
        let after = Purge { rev: purge.rev.saturating_add(1), ..purge.clone() };
        let item = encode(&after).map_err(|error| WriteError::Unknown(error.into()))?;
        let rev = AttributeValue::N(purge.rev.to_string());
        let write = replace(item, purge::OPTIONAL).require("Rev", rev);
        self.replace_item(write).await
    }

    async fn items(&self, session: &SessionKey) -> Result<Vec<Piece>, Unavailable> {
        let kept = [Item::Session(session).sk(), Item::Purge(session).sk()];
        let most = PURGED_ITEMS.saturating_add(kept.len());
        let page = self
            .client
            .query()
            .table_name(&self.name)
            .consistent_read(true)
            .key_condition_expression("PK = :session")
            .expression_attribute_values(":session", AttributeValue::S(Item::Session(session).pk()))
            .projection_expression("SK")
            .limit(i32::try_from(most).unwrap_or(i32::MAX))
            .send()
            .await
            .map_err(|error| failure::unavailable(WHAT, error))?;
        let places =
            page.items.unwrap_or_default().into_iter().filter_map(|mut item| match item.remove("SK") {
                Some(AttributeValue::S(place)) => Some(place),
                _ => None,
            });
        let pieces = places.filter(|place| !kept.contains(place)).map(|place| Piece {
            kind: key::kind_of_item(&place),
            place,
            bytes: 0,
            payload: None,
        });
        Ok(pieces.take(PURGED_ITEMS).collect())
    }

    async fn remove_items(&self, session: &SessionKey, items: &[Piece]) -> Result<(), Unavailable> {
        let pk = Item::Session(session).pk();
        let malformed =
            |error: aws_sdk_dynamodb::error::BuildError| Unavailable { what: WHAT, source: error.into() };
        let mut left = Vec::with_capacity(items.len());
        for piece in items {
            let key = Attributes::from([
                ("PK".to_owned(), AttributeValue::S(pk.clone())),
                ("SK".to_owned(), AttributeValue::S(piece.place.clone())),
            ]);
            let request = DeleteRequest::builder().set_key(Some(key)).build().map_err(malformed)?;
            left.push(WriteRequest::builder().delete_request(request).build());
        }
        for _ in 0..BATCH_TRIES {
            let requests = HashMap::from([(self.name.clone(), left)]);
            let written = self.client.batch_write_item().set_request_items(Some(requests)).send().await;
            let written = written.map_err(|error| failure::unavailable(WHAT, error))?;
            left = written.unprocessed_items.unwrap_or_default().remove(&self.name).unwrap_or_default();
            if left.is_empty() {
                return Ok(());
            }
        }
        Err(Unavailable { what: WHAT, source: "a batch of removals stayed incomplete".into() })
    }

    async fn due_purges(
        &self,
        shard: u8,
        now: Timestamp,
        after: Option<String>,
    ) -> Result<Page<SessionKey>, Unavailable> {
        let session = |item: &Attributes| key::parse_session(text(item, "PK")?);
        self.due_in(key::purge_index(shard), now, after, session).await
    }
}
