//! A running turn's stream, as far as it is durable.

use aws_sdk_dynamodb::types::AttributeValue;
use contracts::stream::EventId;
use protocol::{id::TurnKey, place::Place};
use turns::checkpoint::Checkpoint;
use turns::ports::{CHECKPOINTS_PAGE, Unavailable};

use super::{Table, WHAT, read::unreadable};
use crate::{
    failure,
    item::{checkpoint::CheckpointItem, decode, encode},
    key::Item,
};

impl Table {
    pub(super) async fn write_checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), Unavailable> {
        let item = encode(&CheckpointItem::from(checkpoint))
            .map_err(|error| Unavailable { what: WHAT, source: error.into() })?;
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
        let from = Item::Checkpoint(turn, from);
        let page = self
            .client
            .query()
            .table_name(&self.name)
            .key_condition_expression("PK = :session AND SK BETWEEN :from AND :last")
            .expression_attribute_values(":session", AttributeValue::S(from.pk()))
            .expression_attribute_values(":from", AttributeValue::S(from.sk()))
            .expression_attribute_values(
                ":last",
                AttributeValue::S(Item::Checkpoint(turn, EventId::MAX).sk()),
            )
            .limit(i32::try_from(CHECKPOINTS_PAGE).unwrap_or(i32::MAX))
            .consistent_read(true)
            .send()
            .await
            .map_err(|error| failure::unavailable(WHAT, error))?;
        let items = page.items.unwrap_or_default().into_iter();
        items
            .map(|item| decode::<CheckpointItem>(item).map(|item| item.into_checkpoint(turn.clone())))
            .collect::<Result<_, _>>()
            .map_err(unreadable)
    }
}
