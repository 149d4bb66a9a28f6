//! The queues on SQS.

use std::{collections::HashMap, time::Duration};

use aws_sdk_sqs::{Client, types::MessageAttributeValue};
use contracts::error::JsonError;
use knowledge::ports::{Announcements, Message};
use opentelemetry::global;
use protocol::{
    queue_message::{FinalizeMessage, TurnMessage, group_of},
    webhook::LaneKey,
};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;
use turns::ports::{self, FinalizeQueue, Unavailable};

use crate::{Prewarmed, failure};

/// The name of the queue in errors.
const RESOURCE: &str = "the finalize queue";

/// The message is sent in parallel with the settle. A second gives the settle time to arrive first.
const DELAY_SECONDS: i32 = 1;

/// The finalize queue.
#[derive(Debug, Clone)]
pub struct Queue {
    client: Prewarmed<Client>,
    url: String,
}

impl Queue {
    /// Creates an adapter for the queue at this URL.
    #[must_use]
    pub fn new(client: impl Into<Prewarmed<Client>>, url: String) -> Self {
        Self { client: client.into(), url }
    }
}

impl Queue {
    /// Deletes a received message, so that it isn't delivered again.
    ///
    /// # Errors
    /// If the queue can't be reached, or doesn't know the receipt.
    pub async fn delete(&self, receipt: &str) -> Result<(), Unavailable> {
        let request = self.client.delete_message().queue_url(&self.url).receipt_handle(receipt);
        request.send().await.map(|_| ()).map_err(|error| failure::unavailable(RESOURCE, error))
    }
}

impl FinalizeQueue for Queue {
    async fn send(&self, message: &FinalizeMessage) -> Result<(), Unavailable> {
        let body = serde_json::to_string(message)
            .map_err(|error| Unavailable { what: RESOURCE, source: JsonError::from(&error).into() })?;
        self.client
            .send_message()
            .queue_url(&self.url)
            .delay_seconds(DELAY_SECONDS)
            .message_body(body)
            .set_message_group_id(message.group())
            .set_message_attributes(trace_attributes())
            .send()
            .await
            .map(|_| ())
            .map_err(|error| failure::unavailable(RESOURCE, error))
    }
}

/// Returns the message attributes that pass the current trace on to the receiver (W3C Trace Context). `None` without a
/// trace. An attribute and no member of the body, because older finalizers refuse unknown members.
fn trace_attributes() -> Option<HashMap<String, MessageAttributeValue>> {
    let context = Span::current().context();
    let mut carrier = HashMap::new();
    global::get_text_map_propagator(|propagator| propagator.inject_context(&context, &mut carrier));
    let attribute = |value| MessageAttributeValue::builder().data_type("String").string_value(value).build();
    let value = attribute(carrier.remove("traceparent")?).ok()?;
    Some(HashMap::from([("traceparent".to_owned(), value)]))
}

/// The queue that triggers `knowledge-indexer`.
#[derive(Debug, Clone)]
pub struct KnowledgeQueue(Queue);

impl KnowledgeQueue {
    /// Creates an adapter for the queue at this URL, with the client of the finalize queue.
    #[must_use]
    pub fn new(queue: &Queue, url: String) -> Self {
        Self(Queue { client: queue.client.clone(), url })
    }
}

impl Announcements for KnowledgeQueue {
    async fn announce(&self, message: &Message) -> Result<(), Unavailable> {
        const RESOURCE: &str = "the knowledge queue";
        let body = serde_json::to_string(message)
            .map_err(|error| Unavailable { what: RESOURCE, source: JsonError::from(&error).into() })?;
        let Queue { client, url } = &self.0;
        let send = client.send_message().queue_url(url).message_body(body);
        // Each org gets its share of a busy indexer.
        let send = send.message_group_id(group_of(&message.org)).set_message_attributes(trace_attributes());
        send.send().await.map(|_| ()).map_err(|error| failure::unavailable(RESOURCE, error))
    }
}

/// The queue whose messages trigger deliveries to webhooks.
#[derive(Debug, Clone)]
pub struct WebhookQueue(Queue);

impl WebhookQueue {
    /// Creates an adapter for the queue at this URL, with the client of the finalize queue.
    #[must_use]
    pub fn new(queue: &Queue, url: String) -> Self {
        Self(Queue { client: queue.client.clone(), url })
    }
}

impl ports::WebhookQueue for WebhookQueue {
    async fn announce(&self, lane: &LaneKey, delay: Duration) -> Result<(), Unavailable> {
        const RESOURCE: &str = "the webhook queue";
        /// The longest delay of SQS.
        const MAX_DELAY_SECONDS: u64 = 900;
        let message = FinalizeMessage::of_lane(lane);
        let body = serde_json::to_string(&message)
            .map_err(|error| Unavailable { what: RESOURCE, source: JsonError::from(&error).into() })?;
        // Rounded up, since a lane isn't leased before it is due.
        let seconds =
            u64::try_from(delay.as_millis().div_ceil(1_000)).unwrap_or(u64::MAX).min(MAX_DELAY_SECONDS);
        let Queue { client, url } = &self.0;
        let send = client.send_message().queue_url(url).message_body(body);
        let send = send.set_delay_seconds(i32::try_from(seconds).ok().filter(|seconds| *seconds > 0));
        // A busy or slow webhook doesn't delay the others.
        let send = send.set_message_group_id(message.group()).set_message_attributes(trace_attributes());
        send.send().await.map(|_| ()).map_err(|error| failure::unavailable(RESOURCE, error))
    }
}

/// The queue that triggers the continuation of turns that no client waits for.
#[derive(Debug, Clone)]
pub struct TurnQueue(Queue);

impl TurnQueue {
    /// Creates an adapter for the queue at this URL, with the client of the finalize queue.
    #[must_use]
    pub fn new(queue: &Queue, url: String) -> Self {
        Self(Queue { client: queue.client.clone(), url })
    }
}

impl ports::TurnQueue for TurnQueue {
    async fn send(&self, message: &TurnMessage) -> Result<(), Unavailable> {
        const RESOURCE: &str = "the turn queue";
        let body = serde_json::to_string(message)
            .map_err(|error| Unavailable { what: RESOURCE, source: JsonError::from(&error).into() })?;
        let Queue { client, url } = &self.0;
        let send = client.send_message().queue_url(url).message_body(body);
        // Each org gets its share of the turns that run at a time.
        let send = send.message_group_id(message.group()).set_message_attributes(trace_attributes());
        send.send().await.map(|_| ()).map_err(|error| failure::unavailable(RESOURCE, error))
    }
}
