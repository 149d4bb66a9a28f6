//! User feedback on turns.

use aws_sdk_dynamodb::{
    error::BuildError,
    types::{AttributeValue, ConditionCheck, TransactWriteItem, Update},
};
use contracts::id::UserId;
use protocol::{detail::Feedback, id::TurnKey};
use turns::ports::{Unavailable, WriteError};

use super::{
    RESOURCE, Table,
    expression::replace,
    read::{primary, unreadable},
};
use crate::{
    failure,
    item::{
        decode,
        detail::{FeedbackItem, OPTIONAL_FEEDBACK},
        encode,
    },
    key::{self, Item},
};

impl Table {
    /// A purge may have begun since the turn was read, so this checks the session's item too.
    pub(super) async fn write_feedback(&self, feedback: &Feedback) -> Result<Option<Feedback>, WriteError> {
        let item = encode(feedback).map_err(|error| WriteError::Unknown(error.into()))?;
        let mut write = replace(item, OPTIONAL_FEEDBACK);
        write.update = write.update.replacen("SET ", "SET #created = if_not_exists(#created, :created), ", 1);
        write.names.insert("#created".to_owned(), "Created".to_owned());
        write.values.insert(":created".to_owned(), AttributeValue::S(feedback.created.to_string()));
        let built = |error: BuildError| WriteError::Unknown(error.into());
        let unpurged = ConditionCheck::builder()
            .table_name(&self.name)
            .set_key(Some(primary(&Item::Session(&feedback.turn.session))))
            .condition_expression("attribute_not_exists(#deleted.#purged)")
            .expression_attribute_names("#deleted", "Deleted")
            .expression_attribute_names("#purged", "Purged")
            .build()
            .map_err(built)?;
        let update = Update::builder()
            .table_name(&self.name)
            .set_key(Some(write.key))
            .update_expression(write.update)
            .set_expression_attribute_names(Some(write.names))
            .set_expression_attribute_values(Some(write.values))
            .build()
            .map_err(built)?;
        let written = self
            .client
            .transact_write_items()
            .transact_items(TransactWriteItem::builder().condition_check(unpurged).build())
            .transact_items(TransactWriteItem::builder().update(update).build())
            .send()
            .await
            .map_err(failure::transaction_error);
        match written {
            Err(WriteError::ConditionFailed) => return Ok(None),
            written => written?,
        };
        let unknown = |error: Unavailable| WriteError::Unknown(error.into());
        let stored = self.get(&Item::Feedback(&feedback.turn, &feedback.by.id)).await.map_err(unknown)?;
        let Some(stored) = stored else { return Ok(None) };
        let stored = decode::<FeedbackItem>(stored).map_err(|error| unknown(unreadable(error)))?;
        Ok(Some(stored.into_feedback(feedback.turn.clone())))
    }

    pub(super) async fn read_feedback(
        &self,
        turn: &TurnKey,
        after: Option<&UserId>,
        limit: usize,
    ) -> Result<Vec<Feedback>, Unavailable> {
        let page = self
            .client
            .query()
            .table_name(&self.name)
            .key_condition_expression("PK = :session AND begins_with(SK, :turn)")
            .expression_attribute_values(":session", AttributeValue::S(Item::Turn(turn).pk()))
            .expression_attribute_values(":turn", AttributeValue::S(key::feedback_prefix(turn)))
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .set_exclusive_start_key(after.map(|user| primary(&Item::Feedback(turn, user))))
            .send()
            .await
            .map_err(|error| failure::unavailable(RESOURCE, error))?;
        let items = page.items.unwrap_or_default().into_iter();
        items
            .map(|item| {
                decode::<FeedbackItem>(item)
                    .map(|feedback| feedback.into_feedback(turn.clone()))
                    .map_err(unreadable)
            })
            .collect()
    }
}
