//! The SQS event, as far as it is read, and the response to it.
//!
//! `aws_lambda_events` has both, but its feature `sqs` brings five crates for members that nothing here reads.

use std::{collections::HashMap, sync::Arc};

use futures::future::BoxFuture;
use lambda_http::LambdaEvent;
use serde::{Deserialize, Deserializer, Serialize};

/// A batch of messages.
#[derive(Debug, Deserialize)]
pub struct SqsEvent {
    /// The messages.
    #[serde(rename = "Records")]
    pub records: Vec<SqsMessage>,
}

/// A message of a batch.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SqsMessage {
    /// Its id.
    pub message_id: Option<String>,
    /// The receipt of this delivery.
    pub receipt_handle: Option<String>,
    /// Its text.
    pub body: Option<String>,
    /// The attributes of the queue.
    #[serde(deserialize_with = "null_as_default")]
    pub attributes: SqsAttributes,
    /// The attributes of the sender.
    #[serde(deserialize_with = "null_as_default")]
    pub message_attributes: HashMap<String, MessageAttribute>,
}

impl SqsMessage {
    /// Returns the number of deliveries, this one included. 1 if the event doesn't tell it.
    #[must_use]
    pub fn deliveries(&self) -> u32 {
        let count = self.attributes.approximate_receive_count.as_deref();
        count.and_then(|count| count.parse().ok()).unwrap_or(1)
    }

    /// Returns the text of an attribute of the sender.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.message_attributes.get(name)?.string_value.as_deref()
    }
}

/// The attributes of the queue, as far as they are read.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SqsAttributes {
    approximate_receive_count: Option<String>,
}

/// A message attribute. Binary ones have no text.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageAttribute {
    /// Its text.
    pub string_value: Option<String>,
}

/// Handles batches of messages in a function that serves HTTP requests too.
pub type SqsHandler =
    Arc<dyn Fn(LambdaEvent<SqsEvent>) -> BoxFuture<'static, SqsBatchResponse> + Send + Sync>;

/// Creates a handler.
pub fn handler(
    handle: impl Fn(LambdaEvent<SqsEvent>) -> BoxFuture<'static, SqsBatchResponse> + Send + Sync + 'static,
) -> SqsHandler {
    Arc::new(handle)
}

/// The failed messages of a batch, which return to the queue. SQS deletes the others.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SqsBatchResponse {
    batch_item_failures: Vec<BatchItemFailure>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct BatchItemFailure {
    item_identifier: String,
}

impl FromIterator<String> for SqsBatchResponse {
    /// Collects the ids of failed messages.
    fn from_iter<I: IntoIterator<Item = String>>(failed: I) -> Self {
        let failures = failed.into_iter().map(|item_identifier| BatchItemFailure { item_identifier });
        Self { batch_item_failures: failures.collect() }
    }
}

/// Reads null like an absent member.
fn null_as_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sample_events_are_read_and_null_attributes_are_none() {
        for text in [
            include_str!("../../../events/turn-finalizer.json"),
            include_str!("../../../events/turn-finalizer-sweep.json"),
        ] {
            let event: SqsEvent = serde_json::from_str(text).unwrap();
            assert!(event.records.iter().all(|message| message.message_id.is_some()));
            assert!(event.records.iter().all(|message| message.receipt_handle.is_some()));
            assert!(event.records.iter().all(|message| message.body.is_some()));
        }
        let event: SqsEvent =
            serde_json::from_str(include_str!("../../../events/turn-finalizer.json")).unwrap();
        assert!(event.records[0].message_attributes["traceparent"].string_value.is_some());
        let message: SqsMessage =
            serde_json::from_value(json!({ "body": null, "messageAttributes": null })).unwrap();
        assert!(message.message_attributes.is_empty());
    }

    #[test]
    fn response_lists_failed_messages_by_id() {
        let response: SqsBatchResponse = ["a".to_owned()].into_iter().collect();
        let expected = json!({ "batchItemFailures": [{ "itemIdentifier": "a" }] });
        assert_eq!(serde_json::to_value(response).unwrap(), expected);
    }
}
