//! SQS: queues in memory, as far as the system uses SQS: delayed messages, visibility, dead letters.
//!
//! A restart forgets every message. Nothing depends on a message but latency: the sweep finds what
//! was never announced. A message that was deleted leaves nothing behind.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;
use uuid::Uuid;

use super::{ACCOUNT, md5};

/// A message is at most 1 MiB; quoted as JSON it can take twice that, with a few members more.
const MAX_REQUEST_BYTES: usize = 4 * 1024 * 1024;
/// How often a receiver that waits looks again: a message becomes visible without a word.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// The longest that a receiver waits.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// How long a message stays invisible where its queue does not say.
const VISIBILITY: Duration = Duration::from_secs(30);

/// An SQS with no queues yet.
pub(crate) fn router() -> Router {
    Router::new()
        .fallback(handle)
        .layer(DefaultBodyLimit::max(MAX_REQUEST_BYTES))
        .with_state(Arc::new(Queues::default()))
}

async fn handle(State(queues): State<Arc<Queues>>, headers: HeaderMap, body: Bytes) -> Response {
    let target = headers.get("x-amz-target").and_then(|target| target.to_str().ok()).unwrap_or_default();
    let action = target.strip_prefix("AmazonSQS.").unwrap_or_default();
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let answered = match serde_json::from_slice(&body) {
        Ok(input) => queues.answer(action, input, host).await,
        Err(_) => Err(Refused("InvalidParameterValue")),
    };
    let (status, body) = match answered {
        Ok(body) => (StatusCode::OK, body),
        Err(Refused(code)) => {
            (StatusCode::BAD_REQUEST, json!({ "__type": format!("com.amazonaws.sqs#{code}") }))
        }
    };
    (status, [(header::CONTENT_TYPE, "application/x-amz-json-1.0")], body.to_string()).into_response()
}

/// The code of an error.
#[derive(Debug)]
struct Refused(&'static str);

/// What any of the actions may say; the others are refused.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Input {
    queue_name: String,
    queue_url: String,
    attributes: BTreeMap<String, String>,
    message_body: String,
    message_attributes: Value,
    delay_seconds: u64,
    max_number_of_messages: Option<usize>,
    wait_time_seconds: u64,
    receipt_handle: String,
}

/// Every queue, by name, and what wakes the receivers when a message came.
#[derive(Debug, Default)]
struct Queues(Mutex<BTreeMap<String, Queue>>, Notify);

#[derive(Debug)]
struct Queue {
    visibility: Duration,
    /// Where a message goes that was received so often, and would be once more.
    dead_letters: Option<(String, u64)>,
    messages: Vec<Message>,
}

#[derive(Debug)]
struct Message {
    id: String,
    body: String,
    attributes: Value,
    sent: SystemTime,
    first_received: SystemTime,
    receives: u64,
    visible: Instant,
    receipt: String,
}

impl Queues {
    async fn answer(&self, action: &str, input: Input, host: &str) -> Result<Value, Refused> {
        let name = input.queue_url.rsplit('/').next().unwrap_or_default();
        match action {
            "CreateQueue" => Ok(self.create(&input, host)),
            "SendMessage" => {
                let sent = self.with(name, |queue| queue.send(&input));
                self.1.notify_waiters();
                sent
            }
            "ReceiveMessage" => self.receive(name, &input).await,
            "DeleteMessage" => self.with(name, |queue| {
                queue.messages.retain(|message| message.receipt != input.receipt_handle);
                json!({})
            }),
            "GetQueueAttributes" => self.with(name, |queue| queue.depth()),
            "PurgeQueue" => self.with(name, |queue| {
                queue.messages.clear();
                json!({})
            }),
            _ => Err(Refused("UnsupportedOperation")),
        }
    }

    fn create(&self, input: &Input, host: &str) -> Value {
        let attribute = |name: &str| input.attributes.get(name).map(String::as_str).unwrap_or_default();
        let redrive: Value = serde_json::from_str(attribute("RedrivePolicy")).unwrap_or_default();
        let target = redrive.get("deadLetterTargetArn").and_then(Value::as_str);
        let target = target.and_then(|arn| arn.rsplit(':').next());
        let most = redrive.get("maxReceiveCount").and_then(Value::as_u64);
        let queue = Queue {
            visibility: attribute("VisibilityTimeout").parse().map_or(VISIBILITY, Duration::from_secs),
            dead_letters: target.map(str::to_owned).zip(most),
            messages: Vec::new(),
        };
        self.lock().entry(input.queue_name.clone()).or_insert(queue);
        json!({ "QueueUrl": format!("http://{host}/{ACCOUNT}/{}", input.queue_name) })
    }

    async fn receive(&self, name: &str, input: &Input) -> Result<Value, Refused> {
        let most = input.max_number_of_messages.unwrap_or(1).clamp(1, 10);
        let until = Instant::now() + Duration::from_secs(input.wait_time_seconds).min(LONGEST_WAIT);
        loop {
            let received = self.take(name, most)?;
            if !received.is_empty() {
                return Ok(json!({ "Messages": received }));
            }
            if Instant::now() >= until {
                return Ok(json!({}));
            }
            // A message that came since this one looked is seen when it looks again.
            let _ = tokio::time::timeout(LOOK_AGAIN, self.1.notified()).await;
        }
    }

    /// The messages that are visible, which are so no more; those that came too often go elsewhere.
    fn take(&self, name: &str, most: usize) -> Result<Vec<Value>, Refused> {
        let mut queues = self.lock();
        let queue = queues.get_mut(name).ok_or(Refused("QueueDoesNotExist"))?;
        let dead = queue.give_up();
        let received = queue.receive(most);
        if let Some((target, _)) = queue.dead_letters.clone()
            && let Some(target) = queues.get_mut(&target)
        {
            target.messages.extend(dead);
        }
        Ok(received)
    }

    fn with(&self, name: &str, work: impl FnOnce(&mut Queue) -> Value) -> Result<Value, Refused> {
        self.lock().get_mut(name).map(work).ok_or(Refused("QueueDoesNotExist"))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Queue>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn send(&mut self, input: &Input) -> Value {
        let (id, now) = (Uuid::new_v4().to_string(), SystemTime::now());
        let answer = json!({ "MessageId": id, "MD5OfMessageBody": md5(input.message_body.as_bytes()) });
        self.messages.push(Message {
            id,
            body: input.message_body.clone(),
            attributes: input.message_attributes.clone(),
            sent: now,
            first_received: now,
            receives: 0,
            visible: Instant::now() + Duration::from_secs(input.delay_seconds),
            receipt: String::new(),
        });
        answer
    }

    /// How many messages can be received, are not to be yet, and were but are not deleted.
    fn depth(&self) -> Value {
        let now = Instant::now();
        let count = |which: &dyn Fn(&Message) -> bool| {
            self.messages.iter().filter(|message| which(message)).count().to_string()
        };
        json!({ "Attributes": {
            "ApproximateNumberOfMessages": count(&|message| message.visible <= now),
            "ApproximateNumberOfMessagesDelayed": count(&|message| message.visible > now && message.receives == 0),
            "ApproximateNumberOfMessagesNotVisible": count(&|message| message.visible > now && message.receives > 0),
        } })
    }

    /// Takes out what was received as often as a message may be.
    fn give_up(&mut self) -> Vec<Message> {
        let Some((_, most)) = self.dead_letters else { return Vec::new() };
        let now = Instant::now();
        let dead = self.messages.extract_if(.., |message| message.receives >= most && message.visible <= now);
        dead.map(|message| Message { receives: 0, receipt: String::new(), ..message }).collect()
    }

    fn receive(&mut self, most: usize) -> Vec<Value> {
        let (now, visibility) = (Instant::now(), self.visibility);
        let visible = self.messages.iter_mut().filter(|message| message.visible <= now);
        visible.take(most).map(|message| message.received(now + visibility)).collect()
    }
}

impl Message {
    fn received(&mut self, invisible_until: Instant) -> Value {
        if self.receives == 0 {
            self.first_received = SystemTime::now();
        }
        self.receives += 1;
        self.visible = invisible_until;
        self.receipt = Uuid::new_v4().to_string();
        let millis =
            |at: SystemTime| at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis().to_string();
        let mut message = json!({
            "MessageId": self.id,
            "ReceiptHandle": self.receipt,
            "Body": self.body,
            "MD5OfBody": md5(self.body.as_bytes()),
            "Attributes": {
                "SenderId": super::ACCESS_KEY,
                "SentTimestamp": millis(self.sent),
                "ApproximateReceiveCount": self.receives.to_string(),
                "ApproximateFirstReceiveTimestamp": millis(self.first_received),
            },
        });
        if !self.attributes.is_null()
            && let Some(members) = message.as_object_mut()
        {
            members.insert("MessageAttributes".to_owned(), self.attributes.clone());
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUE: &str = "http://localhost/1/q";

    async fn asked(queues: &Queues, action: &str, input: Value) -> Value {
        queues.answer(action, serde_json::from_value(input).unwrap(), "localhost").await.unwrap()
    }

    #[tokio::test]
    async fn a_message_that_was_deleted_leaves_nothing_behind() {
        let queues = Queues::default();
        asked(&queues, "CreateQueue", json!({ "QueueName": "q" })).await;
        for n in 0..1_000 {
            asked(&queues, "SendMessage", json!({ "QueueUrl": QUEUE, "MessageBody": n.to_string() })).await;
            let received = asked(&queues, "ReceiveMessage", json!({ "QueueUrl": QUEUE })).await;
            let message = &received["Messages"][0];
            assert_eq!(message["Body"], n.to_string());
            let receipt = &message["ReceiptHandle"];
            asked(&queues, "DeleteMessage", json!({ "QueueUrl": QUEUE, "ReceiptHandle": receipt })).await;
        }
        let queues = queues.lock();
        // This is all that a queue holds.
        let Queue { visibility: _, dead_letters: None, messages } = &queues["q"] else {
            panic!("{queues:?}")
        };
        assert_eq!((queues.len(), messages.len(), messages.capacity() < 10), (1, 0, true));
    }

    #[tokio::test]
    async fn a_queue_tells_how_many_messages_it_has() {
        let queues = Queues::default();
        asked(&queues, "CreateQueue", json!({ "QueueName": "q" })).await;
        for delay in [0, 0, 60] {
            let message = json!({ "QueueUrl": QUEUE, "MessageBody": "m", "DelaySeconds": delay });
            asked(&queues, "SendMessage", message).await;
        }
        asked(&queues, "ReceiveMessage", json!({ "QueueUrl": QUEUE })).await;
        let told = asked(&queues, "GetQueueAttributes", json!({ "QueueUrl": QUEUE })).await;
        let count = |name: &str| told["Attributes"][format!("ApproximateNumberOfMessages{name}")].clone();
        assert_eq!([count(""), count("Delayed"), count("NotVisible")], ["1", "1", "1"]);
    }

    #[tokio::test]
    async fn what_is_no_queue_and_what_is_no_action_is_refused() {
        let queues = Queues::default();
        for (action, code) in [("SendMessage", "QueueDoesNotExist"), ("TagQueue", "UnsupportedOperation")] {
            let refused = queues.answer(action, Input::default(), "localhost").await.unwrap_err();
            assert_eq!(refused.0, code);
        }
    }
}
