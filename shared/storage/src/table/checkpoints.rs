//! A running turn's stream, as far as it is durable.

use aws_sdk_dynamodb::{operation::query::builders::QueryFluentBuilder, types::AttributeValue};
use contracts::stream::EventId;
use protocol::{id::TurnKey, place::Place};
use turns::checkpoint::Checkpoint;
use turns::ports::{CHECKPOINTS_PAGE, Unavailable};

use super::{Table, WHAT, read::unreadable};
use crate::{
    failure,
    item::{Attributes, checkpoint::CheckpointItem, decode, encode},
    key::Item,
};

impl Table {
    pub(super) async fn write_checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), Unavailable> {
        let item = encode(checkpoint).map_err(|error| Unavailable { what: WHAT, source: error.into() })?;
        let put = self.client.put_item().table_name(&self.name).set_item(Some(item)).send().await;
        put.map(|_| ()).map_err(|error| failure::unavailable(WHAT, error))
    }

    /// Consistent, so that a later checkpoint never shows before an earlier one.
    pub(super) async fn read_checkpoints(
        &self,
        turn: &TurnKey,
        after: Option<Place>,
    ) -> Result<Vec<Checkpoint>, Unavailable> {
        let Some(from) = EventId::new(after.map_or(0, |place| place.id().get() + 1)) else {
            return Ok(Vec::new());
        };
        let page = self
            .between(turn, from, EventId::MAX)
            .limit(i32::try_from(CHECKPOINTS_PAGE).unwrap_or(i32::MAX))
            .send()
            .await
            .map_err(|error| failure::unavailable(WHAT, error))?;
        read(turn, page.items.unwrap_or_default())
    }

    pub(super) async fn last_of_checkpoints(&self, turn: &TurnKey) -> Result<Option<Place>, Unavailable> {
        let first = EventId::new(0).unwrap_or(EventId::MAX);
        let page = self.between(turn, first, EventId::MAX).scan_index_forward(false).limit(1).send().await;
        let page = page.map_err(|error| failure::unavailable(WHAT, error))?;
        let last = read(turn, page.items.unwrap_or_default())?.pop();
        Ok(last.map(|checkpoint| checkpoint.ends))
    }

    pub(super) async fn segment_of(
        &self,
        turn: &TurnKey,
        ends: Place,
    ) -> Result<Vec<Checkpoint>, Unavailable> {
        let pages = self.between(turn, Place::start(ends.segment).id(), ends.id()).into_paginator();
        let items = pages.items().send().collect::<Result<Vec<_>, _>>().await;
        read(turn, items.map_err(|error| failure::unavailable(WHAT, error))?)
    }

    /// A turn's checkpoints between two places, both included.
    fn between(&self, turn: &TurnKey, from: EventId, to: EventId) -> QueryFluentBuilder {
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
