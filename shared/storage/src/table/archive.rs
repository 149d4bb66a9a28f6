//! Reads and writes whole sessions, in key order.

use aws_sdk_dynamodb::types::AttributeValue;
use contracts::{id::TurnId, read::StoredItem};
use protocol::id::{SessionKey, TurnKey};
use turns::ports::{Archive, ArchiveItem, InvalidItem, Page, RawItem, Record, Unavailable};

use super::{
    RESOURCE, Table, export,
    item_size::size_of,
    list::keys_of,
    read::{request_of, turn_of, unreadable},
};
use crate::{
    failure,
    item::{Attributes, decode, detail::ResultItem, version_of},
    key::{self, Item, TurnItemKind},
};

/// The head and two details.
const ITEMS_OF_TURN: usize = 3;

/// The most items of one kind that [`Archive::turn_items`] returns.
const ITEMS_PAGE: i32 = 100;

impl Archive for Table {
    async fn walk(
        &self,
        session: &SessionKey,
        after: Option<&TurnId>,
        limit: usize,
    ) -> Result<Page<Record>, Unavailable> {
        let (from, to) = key::turn_range_after(after);
        let limit = limit.saturating_mul(ITEMS_OF_TURN);
        let page = self
            .client
            .query()
            .table_name(&self.name)
            .key_condition_expression("PK = :session AND SK BETWEEN :from AND :to")
            .expression_attribute_values(":session", AttributeValue::S(Item::Session(session).pk()))
            .expression_attribute_values(":from", AttributeValue::S(from))
            .expression_attribute_values(":to", AttributeValue::S(to))
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .send()
            .await
            .map_err(|error| failure::unavailable(RESOURCE, error))?;
        let mut turns: Vec<Items> = Vec::new();
        for item in page.items.unwrap_or_default() {
            let Some((turn, of)) = keys_of(&item).and_then(|(_, sk)| key::parse_turn_item(&sk)) else {
                continue;
            };
            if turns.last().is_none_or(|last| last.turn != turn) {
                turns.push(Items { turn, head: None, request: None, result: None });
            }
            if let Some(last) = turns.last_mut() {
                match of {
                    TurnItemKind::Head => last.head = Some(item),
                    TurnItemKind::Request => last.request = Some(item),
                    TurnItemKind::Result => last.result = Some(item),
                }
            }
        }
        // The last turn of a page may continue on the next one.
        if page.last_evaluated_key.is_some() && turns.len() > 1 {
            turns.pop();
        }
        let next =
            turns.last().filter(|_| page.last_evaluated_key.is_some()).map(|last| last.turn.to_string());
        let records = turns.into_iter().map(|items| items.record(session));
        let items: Result<Vec<_>, _> = records.filter_map(Result::transpose).collect();
        Ok(Page { items: items?, next })
    }

    async fn stored_items(
        &self,
        session: &SessionKey,
        after: Option<String>,
    ) -> Result<Page<RawItem>, Unavailable> {
        self.read_items(session, after).await
    }

    async fn turn_items(&self, turn: &TurnKey) -> Result<Page<StoredItem>, Unavailable> {
        let (mut items, mut next) = (Vec::new(), None);
        for (from, to) in key::turn_ranges(&turn.turn) {
            let page = self
                .client
                .query()
                .table_name(&self.name)
                .consistent_read(true)
                .key_condition_expression("PK = :session AND SK BETWEEN :from AND :to")
                .expression_attribute_values(":session", AttributeValue::S(Item::Turn(turn).pk()))
                .expression_attribute_values(":from", AttributeValue::S(from))
                .expression_attribute_values(":to", AttributeValue::S(to))
                .limit(ITEMS_PAGE)
                .send()
                .await
                .map_err(|error| failure::unavailable(RESOURCE, error))?;
            next = next.or(page.last_evaluated_key.as_ref().and_then(keys_of).map(|(_, sk)| sk));
            items.extend(page.items.unwrap_or_default().iter().filter_map(stored_item));
        }
        Ok(Page { items, next })
    }

    fn parse_item(&self, session: &SessionKey, item: RawItem) -> Result<ArchiveItem, InvalidItem> {
        export::item_from_export(session, item)
    }
}

/// Returns the key, the version and the size of an item.
fn stored_item(item: &Attributes) -> Option<StoredItem> {
    let (_, key) = keys_of(item)?;
    Some(StoredItem { key, version: version_of(item), size_bytes: size_of(item) as u64 })
}

/// The items of a turn.
struct Items {
    turn: TurnId,
    head: Option<Attributes>,
    request: Option<Attributes>,
    result: Option<Attributes>,
}

impl Items {
    fn record(self, session: &SessionKey) -> Result<Option<Record>, Unavailable> {
        let key: TurnKey = session.turn(self.turn);
        let (Some(head), Some(request)) = (self.head, self.request) else { return Ok(None) };
        let result = self.result.map(decode::<ResultItem>).transpose().map_err(unreadable)?;
        Ok(Some(Record {
            turn: turn_of(head, key.clone())?,
            request: request_of(request, key.clone())?,
            result: result.map(|item| item.into_result(key)),
        }))
    }
}
