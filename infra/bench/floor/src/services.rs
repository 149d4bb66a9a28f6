//! The AWS services and the model, with the calls that both functions share.

use aws_sdk_dynamodb::{
    error::BuildError,
    types::{KeysAndAttributes, Put, TransactWriteItem, Update},
};
use aws_sdk_s3::primitives::ByteStream;
use bytes::Bytes;
use lambda_runtime::Error;

use crate::{
    items::{Attributes, Write, key, text},
    model::Model,
    turn::TurnId,
};

/// The condition of items that must not exist yet.
const ABSENT: &str = "attribute_not_exists(PK)";

/// The clients of the services, over one connection pool, and that of the model.
pub(crate) struct Services {
    pub(crate) dynamodb: aws_sdk_dynamodb::Client,
    pub(crate) table: String,
    pub(crate) sqs: aws_sdk_sqs::Client,
    pub(crate) queue_url: String,
    pub(crate) model: Model,
    s3: aws_sdk_s3::Client,
    bucket: String,
}

impl Services {
    /// Creates the clients with the settings of the functions' own.
    pub(crate) async fn load() -> Result<Self, Error> {
        let config = storage::load_sdk_config().await;
        // The local cloud serves a bucket below its own address.
        let s3 = aws_sdk_s3::config::Builder::from(&config).force_path_style(true).build();
        Ok(Self {
            dynamodb: aws_sdk_dynamodb::Client::new(&config),
            table: std::env::var("TABLE_NAME")?,
            sqs: aws_sdk_sqs::Client::new(&config),
            queue_url: std::env::var("FINALIZE_QUEUE_URL")?,
            model: Model::load()?,
            s3: aws_sdk_s3::Client::from_conf(s3),
            bucket: std::env::var("PAYLOAD_BUCKET")?,
        })
    }

    /// Reads items of a turn's session by their sort keys, in one call.
    pub(crate) async fn items<const N: usize>(
        &self,
        turn: &TurnId,
        names: [String; N],
    ) -> Result<[Option<Attributes>; N], Error> {
        let keys = names.iter().map(|name| key(turn.partition(), name.clone())).collect();
        let keys = KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(true).build()?;
        let read = self.dynamodb.batch_get_item().request_items(&self.table, keys).send().await?;
        let mut items = read.responses.unwrap_or_default().remove(&self.table).unwrap_or_default();
        Ok(names.map(|name| {
            let at = items.iter().position(|item| text(item, "SK") == name)?;
            Some(items.swap_remove(at))
        }))
    }

    /// Stores an object that doesn't exist yet.
    pub(crate) async fn put_object(&self, key: String, body: impl Into<ByteStream>) -> Result<(), Error> {
        let put = self.s3.put_object().bucket(&self.bucket).key(key).content_type("application/json");
        put.if_none_match("*").body(body.into()).send().await?;
        Ok(())
    }

    /// Reads an object.
    pub(crate) async fn object(&self, key: String) -> Result<Bytes, Error> {
        let object = self.s3.get_object().bucket(&self.bucket).key(key).send().await?;
        Ok(object.body.collect().await?.into_bytes())
    }

    /// Runs a transaction.
    pub(crate) async fn transact(&self, items: Vec<TransactWriteItem>) -> Result<(), Error> {
        self.dynamodb.transact_write_items().set_transact_items(Some(items)).send().await?;
        Ok(())
    }

    /// Returns the part of a transaction that creates an item.
    pub(crate) fn creation(&self, item: Attributes) -> Result<TransactWriteItem, BuildError> {
        let put = Put::builder().table_name(&self.table).set_item(Some(item)).condition_expression(ABSENT);
        Ok(TransactWriteItem::builder().put(put.build()?).build())
    }

    /// Returns the part of a transaction that writes an item whatever is stored.
    pub(crate) fn put(&self, item: Attributes) -> Result<TransactWriteItem, BuildError> {
        let put = Put::builder().table_name(&self.table).set_item(Some(item));
        Ok(TransactWriteItem::builder().put(put.build()?).build())
    }

    /// Returns the part of a transaction that updates an item.
    pub(crate) fn replacement(&self, write: Write) -> Result<TransactWriteItem, BuildError> {
        let update = Update::builder()
            .table_name(&self.table)
            .set_key(Some(write.key))
            .update_expression(write.update)
            .set_condition_expression(write.condition)
            .set_expression_attribute_names(Some(write.names))
            .set_expression_attribute_values(Some(write.values));
        Ok(TransactWriteItem::builder().update(update.build()?).build())
    }

    /// Updates an item under its condition.
    pub(crate) async fn update(&self, write: Write) -> Result<(), Error> {
        self.dynamodb
            .update_item()
            .table_name(&self.table)
            .set_key(Some(write.key))
            .update_expression(write.update)
            .set_condition_expression(write.condition)
            .set_expression_attribute_names(Some(write.names))
            .set_expression_attribute_values(Some(write.values))
            .send()
            .await?;
        Ok(())
    }
}
