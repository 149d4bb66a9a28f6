//! An event source mapping: receives messages from a queue and invokes its function.
//!
//! As on AWS, it delivers batches of messages, a few at a time. Messages that the function handled are
//! deleted. Messages that it reports as failed return after their visibility timeout, and become dead letters after
//! five receives. If the invocation fails, the whole batch returns.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::account::REGION;
use crate::function::Function;
use crate::lambda::{Lambda, Launcher};

/// Batches delivered at once, at most.
const MAX_CONCURRENT_BATCHES: usize = 5;
/// Wait time of a poll. Short, so that a pause takes effect soon.
const POLL_SECONDS: i32 = 1;
/// Pause after a failed poll.
const FAILURE_PAUSE: Duration = Duration::from_millis(500);
/// Largest reply of the function, in bytes.
const MAX_REPLY_BYTES: usize = 1024 * 1024;

/// State of the event source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Enabled,
    Disabled,
}

/// The queue and the function that the event source connects.
pub(crate) struct Mapping {
    pub(crate) sqs: Client,
    pub(crate) queue_url: String,
    pub(crate) queue_arn: String,
    pub(crate) lambda: Arc<Lambda>,
    pub(crate) function: Function,
    /// Messages in a batch, at most.
    pub(crate) batch: i32,
    /// What the function needs besides, made ready before a batch.
    pub(crate) prepare: Option<Arc<Launcher>>,
    /// Maximum number of processes of the function.
    pub(crate) cap: usize,
}

/// The switch of a running event source.
#[derive(Debug)]
pub(crate) struct Switch {
    desired_state: watch::Sender<State>,
    actual: watch::Receiver<State>,
}

impl Switch {
    /// Stops delivery. Returns once no batch is being delivered.
    pub(crate) async fn disable(&self) {
        self.set(State::Disabled).await;
    }

    /// Restarts delivery.
    pub(crate) async fn enable(&self) {
        self.set(State::Enabled).await;
    }

    async fn set(&self, state: State) {
        self.desired_state.send_replace(state);
        // Fails only if the event source has stopped, in which case it delivers nothing either.
        let _ = self.actual.clone().wait_for(|actual| *actual == state).await;
    }
}

/// Returns the switch of an enabled event source, and the future that runs it until dropped.
pub(crate) fn start(mapping: Mapping) -> (Switch, impl Future<Output = ()> + Send) {
    let (desired_state, desired) = watch::channel(State::Enabled);
    let (reported, actual) = watch::channel(State::Enabled);
    let run = run(Arc::new(mapping), desired, reported);
    (Switch { desired_state, actual }, run)
}

async fn run(mapping: Arc<Mapping>, mut desired_state: watch::Receiver<State>, actual: watch::Sender<State>) {
    let mut batches = JoinSet::new();
    let max_batches = mapping.cap.clamp(1, MAX_CONCURRENT_BATCHES);
    loop {
        if *desired_state.borrow_and_update() == State::Disabled {
            while batches.join_next().await.is_some() {}
            actual.send_replace(State::Disabled);
            if desired_state.wait_for(|state| *state == State::Enabled).await.is_err() {
                return;
            }
        }
        actual.send_replace(State::Enabled);
        while batches.try_join_next().is_some() {}
        if batches.len() >= max_batches {
            batches.join_next().await;
        }
        match mapping.poll().await {
            Some(messages) if messages.is_empty() => {}
            Some(messages) => {
                batches.spawn(Arc::clone(&mapping).deliver(messages));
            }
            None => tokio::time::sleep(FAILURE_PAUSE).await,
        }
    }
}

impl Mapping {
    async fn poll(&self) -> Option<Vec<Message>> {
        let received = self
            .sqs
            .receive_message()
            .queue_url(&self.queue_url)
            .max_number_of_messages(self.batch)
            .wait_time_seconds(POLL_SECONDS)
            .message_system_attribute_names(MessageSystemAttributeName::All)
            .message_attribute_names("All")
            .send()
            .await;
        received.ok().map(|received| received.messages.unwrap_or_default())
    }

    async fn deliver(self: Arc<Self>, messages: Vec<Message>) {
        if let Some(launcher) = &self.prepare {
            launcher.prepare_indexer().await;
        }
        let event = event(&messages, &self.queue_arn).to_string();
        let Ok(reply) = self.lambda.invoke(self.function, event.into()).await else {
            return;
        };
        let Some(reply) = reply.collect(MAX_REPLY_BYTES).await else {
            return;
        };
        for receipt in receipts_to_delete(&messages, &reply) {
            // Messages are deleted one by one, since a single stale handle would fail a whole batch. A message that
            // is not deleted is delivered again, which the function tolerates.
            let _ = self.sqs.delete_message().queue_url(&self.queue_url).receipt_handle(receipt).send().await;
        }
    }
}

/// Returns the event for the function.
fn event(messages: &[Message], queue_arn: &str) -> Value {
    let records: Vec<_> = messages.iter().map(|message| record(message, queue_arn)).collect();
    json!({ "Records": records })
}

fn record(message: &Message, queue_arn: &str) -> Value {
    let attributes: BTreeMap<_, _> =
        message.attributes().into_iter().flatten().map(|(name, value)| (name.as_str(), value)).collect();
    let message_attributes: BTreeMap<_, _> = message
        .message_attributes()
        .into_iter()
        .flatten()
        .map(|(name, value)| {
            let value = json!({
                "stringValue": value.string_value(),
                "stringListValues": [],
                "binaryListValues": [],
                "dataType": value.data_type(),
            });
            (name, value)
        })
        .collect();
    json!({
        "messageId": message.message_id(),
        "receiptHandle": message.receipt_handle(),
        "body": message.body(),
        "attributes": attributes,
        "messageAttributes": message_attributes,
        "md5OfBody": message.md5_of_body(),
        "eventSource": "aws:sqs",
        "eventSourceARN": queue_arn,
        "awsRegion": REGION,
    })
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct BatchResponse {
    #[serde(default)]
    batch_item_failures: Option<Vec<BatchItemFailure>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct BatchItemFailure {
    item_identifier: Option<String>,
}

/// Returns the receipt handles of the messages to delete, based on the function's reply. An empty reply means that
/// every message succeeded. An unknown identifier means that none did.
fn receipts_to_delete<'a>(messages: &'a [Message], reply: &[u8]) -> Vec<&'a str> {
    let reply: Option<BatchResponse> = match reply.trim_ascii() {
        b"" => Some(BatchResponse::default()),
        reply => serde_json::from_slice::<Option<BatchResponse>>(reply).map(Option::unwrap_or_default).ok(),
    };
    let Some(reply) = reply else {
        return Vec::new();
    };
    let ids: HashSet<_> = messages.iter().filter_map(Message::message_id).collect();
    let mut failed = HashSet::new();
    for failure in reply.batch_item_failures.unwrap_or_default() {
        match failure.item_identifier {
            Some(id) if ids.contains(id.as_str()) => failed.insert(id),
            _ => return Vec::new(),
        };
    }
    let succeeded = |message: &&Message| message.message_id().is_some_and(|id| !failed.contains(id));
    messages.iter().filter(succeeded).filter_map(Message::receipt_handle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages() -> Vec<Message> {
        ["a", "b"]
            .map(|id| {
                Message::builder()
                    .message_id(id)
                    .receipt_handle(format!("r-{id}"))
                    .body("{}")
                    .attributes(MessageSystemAttributeName::ApproximateReceiveCount, "1")
                    .build()
            })
            .to_vec()
    }

    #[test]
    fn record_matches_lambda_event() {
        let event = event(&messages(), "arn:q");
        let record = &event["Records"][0];
        assert_eq!(record["messageId"], "a");
        assert_eq!(record["attributes"]["ApproximateReceiveCount"], "1");
        assert_eq!(record["eventSource"], "aws:sqs");
        assert_eq!(record["eventSourceARN"], "arn:q");
    }

    #[test]
    fn messages_not_reported_failed_are_deleted() {
        let messages = messages();
        let one = br#"{"batchItemFailures":[{"itemIdentifier":"a"}]}"#;
        assert_eq!(receipts_to_delete(&messages, one), ["r-b"]);
        for all in
            [&b""[..], b"null", b"{}", br#"{"batchItemFailures":[]}"#, br#"{"batchItemFailures":null}"#]
        {
            assert_eq!(receipts_to_delete(&messages, all), ["r-a", "r-b"]);
        }
    }

    #[test]
    fn unknown_identifier_retries_whole_batch() {
        let messages = messages();
        for wrong in [r#"[{"itemIdentifier":"x"}]"#, r#"[{"itemIdentifier":""}]"#, r#"[{}]"#] {
            let reply = format!(r#"{{"batchItemFailures":{wrong}}}"#);
            assert!(receipts_to_delete(&messages, reply.as_bytes()).is_empty());
        }
        assert!(receipts_to_delete(&messages, b"not json").is_empty());
    }
}
