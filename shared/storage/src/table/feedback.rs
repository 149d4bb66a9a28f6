//! User feedback on turns.

use aws_sdk_dynamodb::{
    error::BuildError,
    types::{AttributeValue, TransactWriteItem, Update},
};
use contracts::id::UserId;
use protocol::{
    detail::Feedback,
    id::{SessionKey, TurnKey},
    ratings::RatingChange,
};
use turns::ports::{Reads, Unavailable, WriteError};

use super::{
    Table,
    expression::replace,
    list::first_items,
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

/// The attribute of feedback with the rating that the session's sums include.
const COUNTED_RATING: &str = "CountedRating";

impl Table {
    /// Stores feedback and adds its rating to the session's sums, in one transaction.
    ///
    /// The feedback must still have the counted rating that was read, so repeated and concurrent writes count a rating
    /// once. A purge may have begun since the turn was read, so this checks the session's item too.
    pub(super) async fn write_feedback(&self, feedback: &Feedback) -> Result<Option<Feedback>, WriteError> {
        let before = self.get(&Item::Feedback(&feedback.turn, &feedback.by.id)).await.map_err(unknown)?;
        let before =
            before.map(decode::<FeedbackItem>).transpose().map_err(|error| unknown(unreadable(error)))?;
        let feedback = Feedback {
            created: before.as_ref().map_or(feedback.created, FeedbackItem::created),
            ..feedback.clone()
        };
        let counted = before.as_ref().and_then(FeedbackItem::counted_rating);
        let item = encode(&feedback).map_err(|error| WriteError::Unknown(error.into()))?;
        let write = replace(item, OPTIONAL_FEEDBACK);
        let write = match counted {
            Some(rating) => write.require(COUNTED_RATING, AttributeValue::N(rating.to_string())),
            None => write.require_absent(COUNTED_RATING),
        };
        let built = |error: BuildError| WriteError::Unknown(error.into());
        let session = &feedback.turn.session;
        let sums = self.add_rating(session, RatingChange::new(counted, feedback.rating)).map_err(built)?;
        let written = self
            .client
            .transact_write_items()
            .transact_items(sums)
            .transact_items(self.update(write).map_err(built)?)
            .send()
            .await
            .map_err(failure::transaction_error);
        match written {
            Ok(_) => Ok(Some(feedback)),
            Err(WriteError::ConditionFailed) => match Reads::session(self, session).await.map_err(unknown)? {
                Some(session) if !session.is_purged() => Err(WriteError::ConditionFailed),
                Some(_) | None => Ok(None),
            },
            Err(error) => Err(error),
        }
    }

    /// Adds a rating to the sums of a session that isn't being purged.
    fn add_rating(
        &self,
        session: &SessionKey,
        change: RatingChange,
    ) -> Result<TransactWriteItem, BuildError> {
        let update = Update::builder()
            .table_name(&self.name)
            .set_key(Some(primary(&Item::Session(session))))
            .update_expression("ADD #count :count, #sum :sum")
            .condition_expression("attribute_exists(PK) AND attribute_not_exists(#deleted.#purged)")
            .expression_attribute_names("#count", "RatingCount")
            .expression_attribute_names("#sum", "RatingSum")
            .expression_attribute_names("#deleted", "Deleted")
            .expression_attribute_names("#purged", "Purged")
            .expression_attribute_values(":count", AttributeValue::N(change.count.to_string()))
            .expression_attribute_values(":sum", AttributeValue::N(change.sum.to_string()))
            .build()?;
        Ok(TransactWriteItem::builder().update(update).build())
    }

    pub(super) async fn read_feedback(
        &self,
        turn: &TurnKey,
        after: Option<&UserId>,
        limit: usize,
    ) -> Result<Vec<Feedback>, Unavailable> {
        let query = self
            .client
            .query()
            .table_name(&self.name)
            .key_condition_expression("PK = :session AND begins_with(SK, :turn)")
            .expression_attribute_values(":session", AttributeValue::S(Item::Turn(turn).pk()))
            .expression_attribute_values(":turn", AttributeValue::S(key::feedback_prefix(turn)))
            .set_exclusive_start_key(after.map(|user| primary(&Item::Feedback(turn, user))));
        let items = first_items(query, limit).await?.into_iter();
        items
            .map(|item| {
                decode::<FeedbackItem>(item)
                    .map(|feedback| feedback.into_feedback(turn.clone()))
                    .map_err(unreadable)
            })
            .collect()
    }
}

fn unknown(error: Unavailable) -> WriteError {
    WriteError::Unknown(error.into())
}
