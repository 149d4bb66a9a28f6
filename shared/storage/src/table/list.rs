//! Lists of a session: its turns, participants and modes, in order. And batches of items.

use std::collections::{HashMap, HashSet};

use aws_sdk_dynamodb::{
    operation::query::builders::QueryFluentBuilder,
    types::{AttributeValue, KeysAndAttributes},
};
use protocol::{
    detail::{ModeChange, ModeChangePosition, Participant},
    id::{SessionKey, TurnKey},
    turn::Turn,
};
use turns::ports::{FoundRecord, FoundTurn, Order, Record, Unavailable};

use super::{
    RESOURCE, Table,
    read::{primary, request_of, session_of, turn_of, unreadable},
};
use crate::{
    failure,
    item::{
        Attributes, decode,
        detail::{ModeItem, ParticipantItem, ResultItem},
    },
    key::{self, Item, MODE_PREFIX, USER_PREFIX},
};

/// The most keys in one batch read, as DynamoDB limits them.
const MAX_BATCH_KEYS: usize = 100;
/// The most tries of a batch read. DynamoDB returns a part of the items if they exceed 16 MB or the table throttles.
const MAX_TRIES: usize = 5;

type Keys = (String, String);

impl Table {
    /// Returns items by key, in any order. Leaves out those that don't exist.
    pub(super) async fn batch(
        &self,
        keys: Vec<Attributes>,
    ) -> Result<HashMap<Keys, Attributes>, Unavailable> {
        let mut found = HashMap::with_capacity(keys.len());
        for chunk in keys.chunks(MAX_BATCH_KEYS) {
            let mut unprocessed = chunk.to_vec();
            for _ in 0..MAX_TRIES {
                if unprocessed.is_empty() {
                    break;
                }
                unprocessed = self.batch_once(unprocessed, &mut found).await?;
            }
            if !unprocessed.is_empty() {
                return Err(Unavailable { what: RESOURCE, source: "a batch read stayed incomplete".into() });
            }
        }
        Ok(found)
    }

    async fn batch_once(
        &self,
        keys: Vec<Attributes>,
        found: &mut HashMap<Keys, Attributes>,
    ) -> Result<Vec<Attributes>, Unavailable> {
        let request = KeysAndAttributes::builder()
            .set_keys(Some(keys))
            // Conditional writes follow from these items: on older ones they would fail and be decided again.
            .consistent_read(true)
            .build()
            .map_err(|error| Unavailable { what: RESOURCE, source: error.into() })?;
        let got = self
            .client
            .batch_get_item()
            .request_items(&self.name, request)
            .send()
            .await
            .map_err(|error| failure::unavailable(RESOURCE, error))?;
        let items = got.responses.unwrap_or_default().remove(&self.name).unwrap_or_default();
        found.extend(items.into_iter().filter_map(|item| Some((keys_of(&item)?, item))));
        let unprocessed = got.unprocessed_keys.unwrap_or_default().remove(&self.name);
        Ok(unprocessed.map(|unprocessed| unprocessed.keys).unwrap_or_default())
    }

    /// Reads turns with their sessions. A batch can't name an item twice, and the turns of a session share its item.
    pub(super) async fn read_sessions_and_turns(
        &self,
        keys: &[TurnKey],
    ) -> Result<Vec<FoundTurn>, Unavailable> {
        let items = keys.iter().flat_map(|key| [Item::Session(&key.session), Item::Turn(key)]);
        let mut seen = HashSet::new();
        let wanted = items.filter(|item| seen.insert((item.pk(), item.sk()))).map(|item| primary(&item));
        let found = self.batch(wanted.collect()).await?;
        let pair = |key: &TurnKey| {
            let find = |item: Item<'_>| found.get(&(item.pk(), item.sk())).cloned();
            let session = find(Item::Session(&key.session));
            let session = session.map(|item| session_of(item, key.session.clone())).transpose()?;
            let turn = find(Item::Turn(key)).map(|item| turn_of(item, key.clone())).transpose()?;
            Ok((session, turn))
        };
        keys.iter().map(pair).collect()
    }

    /// Returns a session, one of its turns and the details of that turn's request in one call.
    pub(super) async fn read_session_and_record(&self, key: &TurnKey) -> Result<FoundRecord, Unavailable> {
        let (session, turn, request) = (Item::Session(&key.session), Item::Turn(key), Item::Request(key));
        let mut found = self.batch([&session, &turn, &request].map(primary).into()).await?;
        let mut take = |item: &Item<'_>| found.remove(&(item.pk(), item.sk()));
        let (session, turn, request) = (take(&session), take(&turn), take(&request));
        let session = session.map(|item| session_of(item, key.session.clone())).transpose()?;
        let turn = turn.map(|item| turn_of(item, key.clone())).transpose()?;
        Ok((session, turn, request.map(|item| request_of(item, key.clone())).transpose()?))
    }

    /// Returns the heads of a session's turns before this sequence number, newest first.
    pub(super) async fn heads_before(
        &self,
        session: &SessionKey,
        before: u64,
        limit: usize,
    ) -> Result<Vec<Turn>, Unavailable> {
        let page = self
            .client
            .query()
            .table_name(&self.name)
            .index_name("LSI1")
            .consistent_read(true)
            .key_condition_expression("PK = :session AND Seq < :before")
            .expression_attribute_values(":session", AttributeValue::S(Item::Session(session).pk()))
            .expression_attribute_values(":before", AttributeValue::N(before.to_string()))
            .scan_index_forward(false)
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .send()
            .await
            .map_err(|error| failure::unavailable(RESOURCE, error))?;
        let keys = page.items().iter().filter_map(keys_of);
        let turns: Vec<TurnKey> = keys.filter_map(|(pk, sk)| key::parse_turn(&pk, &sk)).collect();
        self.heads(&turns).await
    }

    /// Returns the existing heads of these turns, in this order.
    pub(super) async fn heads(&self, turns: &[TurnKey]) -> Result<Vec<Turn>, Unavailable> {
        let mut found = self.batch(turns.iter().map(|turn| primary(&Item::Turn(turn))).collect()).await?;
        let mut heads = Vec::with_capacity(turns.len());
        for turn in turns {
            let item = Item::Turn(turn);
            if let Some(head) = found.remove(&(item.pk(), item.sk())) {
                heads.push(turn_of(head, turn.clone())?);
            }
        }
        Ok(heads)
    }

    async fn records_of(&self, turns: &[TurnKey]) -> Result<Vec<Record>, Unavailable> {
        let keys = turns.iter().flat_map(|turn| {
            [Item::Turn(turn), Item::Request(turn), Item::Result(turn)].map(|key| primary(&key))
        });
        let mut found = self.batch(keys.collect()).await?;
        let mut records = Vec::with_capacity(turns.len());
        for turn in turns {
            let mut take = |key: Item<'_>| found.remove(&(key.pk(), key.sk()));
            let (Some(head), Some(request)) = (take(Item::Turn(turn)), take(Item::Request(turn))) else {
                continue;
            };
            let result = take(Item::Result(turn));
            records.push(Record {
                turn: turn_of(head, turn.clone())?,
                request: request_of(request, turn.clone())?,
                result: result
                    .map(decode::<ResultItem>)
                    .transpose()
                    .map_err(unreadable)?
                    .map(|item| item.into_result(turn.clone())),
            });
        }
        Ok(records)
    }
}

/// Returns the first items of a query, at most `limit`, from as many pages as that takes: a page of the table ends at
/// 1 MB, so a short one isn't the end of the list.
pub(super) async fn first_items(
    query: QueryFluentBuilder,
    limit: usize,
) -> Result<Vec<Attributes>, Unavailable> {
    let pages = query.limit(i32::try_from(limit).unwrap_or(i32::MAX)).into_paginator();
    let (mut pages, mut items) = (pages.items().send(), Vec::new());
    while items.len() < limit {
        let Some(item) = pages.next().await else { break };
        items.push(item.map_err(|error| failure::unavailable(RESOURCE, error))?);
    }
    Ok(items)
}

pub(super) fn keys_of(item: &Attributes) -> Option<Keys> {
    Some((item.get("PK")?.as_s().ok()?.clone(), item.get("SK")?.as_s().ok()?.clone()))
}

impl Table {
    pub(super) async fn read_records(
        &self,
        session: &SessionKey,
        after: Option<u64>,
        order: Order,
        limit: usize,
    ) -> Result<Vec<Record>, Unavailable> {
        let (condition, from) = match order {
            Order::OldestFirst => ("PK = :session AND Seq > :after", after.unwrap_or(0)),
            Order::NewestFirst => ("PK = :session AND Seq < :after", after.unwrap_or(u64::MAX)),
        };
        let page = self
            .client
            .query()
            .table_name(&self.name)
            .index_name("LSI1")
            .consistent_read(true)
            .key_condition_expression(condition)
            .expression_attribute_values(":session", AttributeValue::S(Item::Session(session).pk()))
            .expression_attribute_values(":after", AttributeValue::N(from.to_string()))
            .scan_index_forward(order == Order::OldestFirst)
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .send()
            .await
            .map_err(|error| failure::unavailable(RESOURCE, error))?;
        let turns = page.items().iter().filter_map(keys_of).filter_map(|(pk, sk)| key::parse_turn(&pk, &sk));
        self.records_of(&turns.collect::<Vec<_>>()).await
    }

    pub(super) async fn read_participants(
        &self,
        session: &SessionKey,
        limit: usize,
    ) -> Result<Vec<Participant>, Unavailable> {
        let query = self
            .client
            .query()
            .table_name(&self.name)
            .key_condition_expression("PK = :session AND begins_with(SK, :user)")
            .expression_attribute_values(":session", AttributeValue::S(Item::Session(session).pk()))
            .expression_attribute_values(":user", AttributeValue::S(USER_PREFIX.to_owned()));
        let items = first_items(query, limit).await?.into_iter();
        let parts = items.map(|item| {
            let user = keys_of(&item).and_then(|(_, sk)| key::parse_user(&sk));
            let part = decode::<ParticipantItem>(item).map_err(unreadable)?;
            Ok(user.map(|user| part.into_participant(session.clone(), user)))
        });
        parts.filter_map(Result::transpose).collect()
    }

    pub(super) async fn read_record(&self, key: &TurnKey) -> Result<Option<Record>, Unavailable> {
        self.records_of(std::slice::from_ref(key)).await.map(|records| records.into_iter().next())
    }

    pub(super) async fn read_mode_changes(
        &self,
        session: &SessionKey,
        before: Option<ModeChangePosition>,
        limit: usize,
    ) -> Result<Vec<ModeChange>, Unavailable> {
        let query = self
            .client
            .query()
            .table_name(&self.name)
            .key_condition_expression("PK = :session AND begins_with(SK, :mode)")
            .expression_attribute_values(":session", AttributeValue::S(Item::Session(session).pk()))
            .expression_attribute_values(":mode", AttributeValue::S(MODE_PREFIX.to_owned()))
            .scan_index_forward(false)
            .set_exclusive_start_key(before.map(|place| primary(&Item::ModeChange(session, place))));
        let items = first_items(query, limit).await?.into_iter();
        items
            .map(|item| {
                decode::<ModeItem>(item).map(|item| item.into_mode_change(session)).map_err(unreadable)
            })
            .collect()
    }
}
