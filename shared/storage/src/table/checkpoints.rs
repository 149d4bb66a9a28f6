//! The durable part of a running turn's stream.

use aws_sdk_dynamodb::{operation::query::builders::QueryFluentBuilder, types::AttributeValue};
use contracts::stream::EventId;
use protocol::{id::TurnKey, stream_position::StreamPosition};
use turns::checkpoint::{Checkpoint, LastCheckpoint};
use turns::ports::{CHECKPOINT_PAGE_SIZE, Unavailable};

use super::{RESOURCE, Table, read::unreadable};
use crate::{
    failure,
    item::{Attributes, checkpoint::CheckpointItem, decode, encode},
    key::Item,
};

impl Table {
    pub(super) async fn write_checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), Unavailable> {
        let item =
            encode(checkpoint).map_err(|error| Unavailable { what: RESOURCE, source: error.into() })?;
        let put = self.client.put_item().table_name(&self.name).set_item(Some(item)).send().await;
        put.map(|_| ()).map_err(|error| failure::unavailable(RESOURCE, error))
    }

    /// Reads consistently, so that a later checkpoint never becomes visible before an earlier one.
    pub(super) async fn read_checkpoints(
        &self,
        turn: &TurnKey,
        after: Option<StreamPosition>,
    ) -> Result<Vec<Checkpoint>, Unavailable> {
        let Some(from) = EventId::new(after.map_or(0, |place| place.event_id().get() + 1)) else {
            return Ok(Vec::new());
        };
        let page = self
            .range_query(turn, from, EventId::MAX)
            .limit(i32::try_from(CHECKPOINT_PAGE_SIZE).unwrap_or(i32::MAX))
            .send()
            .await
            .map_err(|error| failure::unavailable(RESOURCE, error))?;
        read(turn, page.items.unwrap_or_default())
    }

    pub(super) async fn read_last_checkpoint(
        &self,
        turn: &TurnKey,
    ) -> Result<Option<LastCheckpoint>, Unavailable> {
        let first = EventId::new(0).unwrap_or(EventId::MAX);
        let page =
            self.range_query(turn, first, EventId::MAX).scan_index_forward(false).limit(1).send().await;
        let page = page.map_err(|error| failure::unavailable(RESOURCE, error))?;
        let last = read(turn, page.items.unwrap_or_default())?.pop();
        Ok(last.map(LastCheckpoint::from))
    }

    pub(super) async fn read_segment(
        &self,
        turn: &TurnKey,
        end: StreamPosition,
    ) -> Result<Vec<Checkpoint>, Unavailable> {
        let pages = self
            .range_query(turn, StreamPosition::start(end.segment).event_id(), end.event_id())
            .into_paginator();
        let items = pages.items().send().collect::<Result<Vec<_>, _>>().await;
        read(turn, items.map_err(|error| failure::unavailable(RESOURCE, error))?)
    }

    /// Queries a turn's checkpoints between two positions, both inclusive.
    fn range_query(&self, turn: &TurnKey, from: EventId, to: EventId) -> QueryFluentBuilder {
        let (from, to) = (Item::Checkpoint(turn, from), Item::Checkpoint(turn, to));
        self.client
            .query()
            .table_name(&self.name)
            .key_condition_expression("PK = :session AND SK BETWEEN :from AND :last")
            .expression_attribute_values(":session", AttributeValue::S(from.pk()))
            .expression_attribute_values(":from", AttributeValue::S(from.sk()))
            .expression_attribute_values(":last", AttributeValue::S(to.sk()))
            .consistent_read(true)
    }
}

fn read(turn: &TurnKey, items: Vec<Attributes>) -> Result<Vec<Checkpoint>, Unavailable> {
    let checkpoint = |item| decode::<CheckpointItem>(item).map(|item| item.into_checkpoint(turn.clone()));
    items.into_iter().map(checkpoint).collect::<Result<_, _>>().map_err(unreadable)
}
