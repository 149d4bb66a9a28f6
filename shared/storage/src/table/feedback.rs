//! What users say of turns.

use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use contracts::id::UserId;
use protocol::{detail::Feedback, id::TurnKey};
use turns::ports::Unavailable;

use super::{
    Table, WHAT,
    expression::replace,
    read::{primary, unreadable},
};
use crate::{
    failure,
    item::{
        decode,
        detail::{FeedbackItem, OF_FEEDBACK},
        encode,
    },
    key::{self, Item},
};

impl Table {
    pub(super) async fn write_feedback(&self, said: &Feedback) -> Result<Feedback, Unavailable> {
        let item = encode(&FeedbackItem::from(said))
            .map_err(|error| Unavailable { what: WHAT, source: error.into() })?;
        let mut write = replace(item, OF_FEEDBACK);
        write.update = write.update.replacen("SET ", "SET #created = if_not_exists(#created, :created), ", 1);
        write.names.insert("#created".to_owned(), "Created".to_owned());
        write.values.insert(":created".to_owned(), AttributeValue::S(said.created.to_string()));
        let kept = self
            .client
            .update_item()
            .table_name(&self.name)
            .set_key(Some(write.key))
            .update_expression(write.update)
            .set_expression_attribute_names(Some(write.names))
            .set_expression_attribute_values(Some(write.values))
            .return_values(ReturnValue::AllNew)
            .send()
            .await
            .map_err(|error| failure::unavailable(WHAT, error))?;
        let kept = decode::<FeedbackItem>(kept.attributes.unwrap_or_default()).map_err(unreadable)?;
        Ok(kept.into_feedback(said.turn.clone()))
    }

    pub(super) async fn feedback_of(
        &self,
        turn: &TurnKey,
        after: Option<&UserId>,
        most: usize,
    ) -> Result<Vec<Feedback>, Unavailable> {
        let page = self
            .client
            .query()
            .table_name(&self.name)
            .key_condition_expression("PK = :session AND begins_with(SK, :turn)")
            .expression_attribute_values(":session", AttributeValue::S(Item::Turn(turn).pk()))
            .expression_attribute_values(":turn", AttributeValue::S(key::feedback_prefix(turn)))
            .limit(i32::try_from(most).unwrap_or(i32::MAX))
            .set_exclusive_start_key(after.map(|user| primary(&Item::Feedback(turn, user))))
            .send()
            .await
            .map_err(|error| failure::unavailable(WHAT, error))?;
        let items = page.items.unwrap_or_default().into_iter();
        items
            .map(|item| {
                decode::<FeedbackItem>(item).map(|said| said.into_feedback(turn.clone())).map_err(unreadable)
            })
            .collect()
    }
}
