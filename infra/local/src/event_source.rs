//! The event source mapping: takes messages from the finalize queue and invokes `turn-finalizer`.
//!
//! As on AWS: up to ten messages a batch, a few batches at a time; what the function took care of is
//! deleted, what it reports as failed comes back after its visibility timeout and ends as a dead
//! letter after five receives. A batch that fails as a whole comes back as a whole.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::lambda::{Function, Lambda};
use crate::services::REGION;

/// Messages in a batch, at most.
const BATCH: i32 = 10;
/// Batches at a time, at most.
const MAX_CONCURRENT: usize = 5;
/// How long a poll waits for a first message. Short, so that a pause takes effect soon.
const POLL_SECONDS: i32 = 1;
/// A pause after a poll that failed.
const AFTER_FAILURE: Duration = Duration::from_millis(500);
/// The largest reply of the function.
const MAX_REPLY_BYTES: usize = 1024 * 1024;

/// Whether the event source delivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Enabled,
    Disabled,
}

/// What the event source is about.
pub(crate) struct Mapping {
    pub(crate) sqs: Client,
    pub(crate) queue_url: String,
    pub(crate) queue_arn: String,
    pub(crate) lambda: Arc<Lambda>,
    /// How many processes the function may have.
    pub(crate) cap: usize,
}

/// The switch of a running event source.
#[derive(Debug)]
pub(crate) struct Switch {
    wanted: watch::Sender<State>,
    actual: watch::Receiver<State>,
}

impl Switch {
    /// Delivers nothing more; returns when nothing is under way any more.
    pub(crate) async fn disable(&self) {
        self.set(State::Disabled).await;
    }

    /// Delivers again.
    pub(crate) async fn enable(&self) {
        self.set(State::Enabled).await;
    }

    async fn set(&self, state: State) {
        self.wanted.send_replace(state);
        // Fails only when the event source has ended, and then it delivers nothing either.
        let _ = self.actual.clone().wait_for(|actual| *actual == state).await;
    }
}

/// An event source that is enabled, and its switch. The future runs until it is dropped.
pub(crate) fn start(mapping: Mapping) -> (Switch, impl Future<Output = ()> + Send) {
    let (wanted, wants) = watch::channel(State::Enabled);
    let (is, actual) = watch::channel(State::Enabled);
    let run = run(Arc::new(mapping), wants, is);
    (Switch { wanted, actual }, run)
}

async fn run(mapping: Arc<Mapping>, mut wanted: watch::Receiver<State>, actual: watch::Sender<State>) {
    let mut batches = JoinSet::new();
    let most = mapping.cap.clamp(1, MAX_CONCURRENT);
    loop {
        if *wanted.borrow_and_update() == State::Disabled {
            while batches.join_next().await.is_some() {}
            actual.send_replace(State::Disabled);
            if wanted.wait_for(|state| *state == State::Enabled).await.is_err() {
                return;
            }
        }
        actual.send_replace(State::Enabled);
        while batches.try_join_next().is_some() {}
        if batches.len() >= most {
            batches.join_next().await;
        }
        match mapping.poll().await {
            Some(messages) if messages.is_empty() => {}
            Some(messages) => {
                batches.spawn(Arc::clone(&mapping).deliver(messages));
            }
            None => tokio::time::sleep(AFTER_FAILURE).await,
        }
    }
}

impl Mapping {
    async fn poll(&self) -> Option<Vec<Message>> {
        let received = self
            .sqs
            .receive_message()
            .queue_url(&self.queue_url)
            .max_number_of_messages(BATCH)
            .wait_time_seconds(POLL_SECONDS)
            .message_system_attribute_names(MessageSystemAttributeName::All)
            .message_attribute_names("All")
            .send()
            .await;
        received.ok().map(|received| received.messages.unwrap_or_default())
    }

    async fn deliver(self: Arc<Self>, messages: Vec<Message>) {
        let event = event(&messages, &self.queue_arn).to_string();
        let Ok(reply) = self.lambda.invoke(Function::TurnFinalizer, event.into()).await else {
            return;
        };
        let Some(reply) = reply.whole(MAX_REPLY_BYTES).await else {
            return;
        };
        for receipt in handled(&messages, &reply) {
            // One by one: a single stale handle would fail a whole batch. One that is not deleted comes
            // back, which the function tolerates.
            let _ = self.sqs.delete_message().queue_url(&self.queue_url).receipt_handle(receipt).send().await;
        }
    }
}

/// The event that the function gets.
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

/// The receipt handles of the messages that need not come back, by what the function replied: nothing
/// at all means that all went well, an identifier that no message has means that none did.
fn handled<'a>(messages: &'a [Message], reply: &[u8]) -> Vec<&'a str> {
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
    fn a_record_is_what_lambda_sends() {
        let event = event(&messages(), "arn:q");
        let record = &event["Records"][0];
        assert_eq!(record["messageId"], "a");
        assert_eq!(record["attributes"]["ApproximateReceiveCount"], "1");
        assert_eq!(record["eventSource"], "aws:sqs");
        assert_eq!(record["eventSourceARN"], "arn:q");
    }

    #[test]
    fn what_is_not_reported_as_failed_is_deleted() {
        let messages = messages();
        let one = br#"{"batchItemFailures":[{"itemIdentifier":"a"}]}"#;
        assert_eq!(handled(&messages, one), ["r-b"]);
        for all in
            [&b""[..], b"null", b"{}", br#"{"batchItemFailures":[]}"#, br#"{"batchItemFailures":null}"#]
        {
            assert_eq!(handled(&messages, all), ["r-a", "r-b"]);
        }
    }

    #[test]
    fn a_wrong_identifier_retries_the_whole_batch() {
        let messages = messages();
        for wrong in [r#"[{"itemIdentifier":"x"}]"#, r#"[{"itemIdentifier":""}]"#, r#"[{}]"#] {
            let reply = format!(r#"{{"batchItemFailures":{wrong}}}"#);
            assert!(handled(&messages, reply.as_bytes()).is_empty());
        }
        assert!(handled(&messages, b"not json").is_empty());
    }
}
