//! Conditional writes and transactions.

use aws_sdk_dynamodb::{
    error::BuildError,
    operation::put_item::builders::PutItemFluentBuilder,
    types::{AttributeValue, Put, ReturnConsumedCapacity, TransactWriteItem, Update},
};
use protocol::{
    change::{Commit, Condition, SessionChange, TurnChange},
    detail::Participant,
};
use turns::ports::{Source, WriteError};

use super::{
    Table,
    expression::{Expression, replace, replace_except},
};
use crate::{
    failure,
    item::{Attributes, Unwritable, VERSION, encode, session, turn},
    key::Item,
};

/// The condition for items that must not exist yet.
pub(super) const ABSENT: &str = "attribute_not_exists(PK)";

impl Table {
    pub(super) async fn write_head(&self, change: &TurnChange) -> Result<(), WriteError> {
        let item = encode(&change.after).map_err(unknown)?;
        let Some(write) = replace(item.clone(), turn::OPTIONAL).with_condition(&change.condition) else {
            return self.put_new(item).await;
        };
        self.replace_item(write).await
    }

    /// Begins a write of an item with its keys and the version of the data format.
    pub(super) fn put_item(&self, key: &Item<'_>) -> PutItemFluentBuilder {
        self.client
            .put_item()
            .table_name(&self.name)
            .item("PK", AttributeValue::S(key.pk()))
            .item("SK", AttributeValue::S(key.sk()))
            .item("V", AttributeValue::N(VERSION.to_string()))
    }

    /// Updates an item under its condition.
    pub(super) async fn replace_item(&self, write: Expression) -> Result<(), WriteError> {
        self.client
            .update_item()
            .table_name(&self.name)
            .set_key(Some(write.key))
            .update_expression(write.update)
            .condition_expression(write.condition)
            .set_expression_attribute_names(Some(write.names))
            .set_expression_attribute_values(Some(write.values))
            .send()
            .await
            .map(|_| ())
            .map_err(failure::write_error)
    }

    async fn put_new(&self, item: Attributes) -> Result<(), WriteError> {
        self.client
            .put_item()
            .table_name(&self.name)
            .set_item(Some(item))
            .condition_expression(ABSENT)
            .send()
            .await
            .map(|_| ())
            .map_err(failure::write_error)
    }

    pub(super) async fn write_transaction(&self, commit: &Commit) -> Result<(), WriteError> {
        self.transact(self.transaction(commit).map_err(WriteError::Unknown)?).await
    }

    /// Writes items in one transaction: everything or nothing.
    pub(super) async fn transact(&self, items: Vec<TransactWriteItem>) -> Result<(), WriteError> {
        self.client
            .transact_write_items()
            .set_transact_items(Some(items))
            .return_consumed_capacity(ReturnConsumedCapacity::None)
            .send()
            .await
            .map(|_| ())
            .map_err(failure::transaction_error)
    }

    fn transaction(&self, commit: &Commit) -> Result<Vec<TransactWriteItem>, Source> {
        let mut items = vec![self.session(&commit.session)?];
        for change in &commit.turns {
            items.push(self.head(change)?);
        }
        if let Some(request) = &commit.request {
            items.push(self.put(encode(request)?, Some(ABSENT))?);
        }
        if let Some(result) = &commit.result {
            items.push(self.put(encode(result)?, None)?);
        }
        if let Some(participant) = &commit.participant {
            items.push(self.put(encode(participant)?, Some(ABSENT))?);
        }
        if let Some(participant) = &commit.activity {
            items.push(self.activity(participant)?);
        }
        if let Some(purge) = &commit.purge {
            items.push(self.put(encode(purge)?, None)?);
        }
        for entry in &commit.usage {
            items.push(self.add_usage(entry)?);
        }
        for change in &commit.mode_changes {
            items.push(self.put(encode(change)?, Some(ABSENT))?);
        }
        items.extend(self.unknown_puts(&commit.unknown_effects)?);
        items.extend(self.outbox_writes(&commit.deliveries)?);
        Ok(items)
    }

    fn session(&self, change: &SessionChange) -> Result<TransactWriteItem, Source> {
        let mut item = encode(&change.after)?;
        self.shard_session(&mut item, &change.after.key);
        Ok(match change.condition {
            None => self.put(item, Some(ABSENT))?,
            Some(rev) => {
                // Feedback is given without the session's `Rev`, so its sums may be newer than what was read.
                let write = match change.after.is_purged() {
                    true => replace(item, &[session::OPTIONAL, session::RATINGS].concat()),
                    false => replace_except(item, session::OPTIONAL, session::RATINGS),
                };
                self.update(write.require("Rev", AttributeValue::N(rev.to_string())))?
            }
        })
    }

    pub(super) fn head(&self, change: &TurnChange) -> Result<TransactWriteItem, Source> {
        let item = encode(&change.after)?;
        Ok(match change.condition {
            Condition::Absent => self.put(item, Some(ABSENT))?,
            Condition::Unchanged { .. } | Condition::Unsealed { .. } => {
                match replace(item, turn::OPTIONAL).with_condition(&change.condition) {
                    Some(write) => self.update(write)?,
                    None => return Err("a standing head has a condition".into()),
                }
            }
        })
    }

    pub(super) fn put(
        &self,
        item: Attributes,
        condition: Option<&str>,
    ) -> Result<TransactWriteItem, BuildError> {
        let put = Put::builder()
            .table_name(&self.name)
            .set_item(Some(item))
            .set_condition_expression(condition.map(str::to_owned))
            .build()?;
        Ok(TransactWriteItem::builder().put(put).build())
    }

    pub(super) fn update(&self, write: Expression) -> Result<TransactWriteItem, BuildError> {
        let update = Update::builder()
            .table_name(&self.name)
            .set_key(Some(write.key))
            .update_expression(write.update)
            .set_condition_expression(Some(write.condition).filter(|condition| !condition.is_empty()))
            .set_expression_attribute_names(Some(write.names))
            .set_expression_attribute_values(Some(write.values))
            .build()?;
        Ok(TransactWriteItem::builder().update(update).build())
    }

    /// Sets a participant's last activity, and keeps the stored name. A session's turns become terminal one after the
    /// other, so the last one to write it is the user's latest.
    fn activity(&self, participant: &Participant) -> Result<TransactWriteItem, Source> {
        Ok(self.update(replace(encode(participant)?, &[]))?)
    }
}

fn unknown(error: Unwritable) -> WriteError {
    WriteError::Unknown(error.into())
}
