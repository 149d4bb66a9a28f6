//! Writes of an import: transactions that require its reservation (rule 13).

use aws_sdk_dynamodb::{
    error::BuildError,
    types::{AttributeValue, ConditionCheck, ReturnConsumedCapacity, TransactWriteItem},
};
use protocol::transition::import::Reservation;
use turns::ports::{ARCHIVE_BATCH_SIZE, ArchiveItem, WriteError};

use super::{Table, export::encode_archive_item, item_size::size_of};
use crate::{failure, item::Attributes, key::Item};

/// The size in bytes after which another transaction begins. DynamoDB's limit is 4 MB, and one item may follow, which
/// has at most 400 KB.
const MAX_BYTES: usize = 3 * 1024 * 1024;

// DynamoDB allows 100 items, of which the reservation is one.
const _: () = assert!(ARCHIVE_BATCH_SIZE < 100);

impl Table {
    pub(super) async fn write_archive_items(
        &self,
        reservation: &Reservation,
        items: &[ArchiveItem],
    ) -> Result<(), WriteError> {
        let unwritable = |error: crate::item::Unwritable| WriteError::Unknown(error.into());
        let unbuilt = |error: BuildError| WriteError::Unknown(error.into());
        let encode = |archived: &ArchiveItem| {
            let mut item = encode_archive_item(archived).map_err(unwritable)?;
            if let ArchiveItem::Session(session) = archived {
                self.shard_session(&mut item, &session.key);
            }
            Ok(item)
        };
        let encoded: Result<Vec<Attributes>, WriteError> = items.iter().map(encode).collect();
        let (mut pending, mut bytes) = (Vec::new(), 0);
        for item in encoded? {
            bytes += size_of(&item);
            pending.push(self.put(item, None).map_err(unbuilt)?);
            if bytes >= MAX_BYTES || pending.len() == ARCHIVE_BATCH_SIZE {
                self.write_reserved(reservation, std::mem::take(&mut pending)).await?;
                bytes = 0;
            }
        }
        match pending.is_empty() {
            true => Ok(()),
            false => self.write_reserved(reservation, pending).await,
        }
    }

    async fn write_reserved(
        &self,
        reservation: &Reservation,
        mut writes: Vec<TransactWriteItem>,
    ) -> Result<(), WriteError> {
        let condition = self.reserved(reservation).map_err(|error| WriteError::Unknown(error.into()))?;
        writes.push(condition);
        self.client
            .transact_write_items()
            .set_transact_items(Some(writes))
            .return_consumed_capacity(ReturnConsumedCapacity::None)
            .send()
            .await
            .map(|_| ())
            .map_err(failure::transaction_error)
    }

    fn reserved(&self, reservation: &Reservation) -> Result<TransactWriteItem, BuildError> {
        let session = Item::Session(&reservation.key);
        let check = ConditionCheck::builder()
            .table_name(&self.name)
            .key("PK", AttributeValue::S(session.pk()))
            .key("SK", AttributeValue::S(session.sk()))
            .condition_expression("#rev = :rev")
            .expression_attribute_names("#rev", "Rev")
            .expression_attribute_values(":rev", AttributeValue::N(reservation.rev.to_string()))
            .build()?;
        Ok(TransactWriteItem::builder().condition_check(check).build())
    }
}
