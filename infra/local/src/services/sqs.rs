//! SQS: in-memory queues, with the features that the system uses: delayed messages, visibility, dead letters.
//!
//! A restart loses every message. Only latency depends on messages, since the sweep finds turns that were never
//! announced. A deleted message leaves nothing behind.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;
use uuid::Uuid;

use super::checksum::md5;
use super::error::{Error, listen};
use super::signature::{Verifier, verify};
use crate::account::{ACCESS_KEY, ACCOUNT};
use crate::listener::Server;
use crate::service_keys::ServiceKeys;

/// Largest request. A message has at most 1 MiB; as a JSON string it can take twice that, plus a few members.
const MAX_REQUEST_BYTES: usize = 4 * 1024 * 1024;
/// Largest body of a message.
const MAX_MESSAGE_BYTES: usize = 1024 * 1024;
/// Poll interval of a waiting receiver, since a message becomes visible without a notification.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Longest wait of a receiver.
const MAX_WAIT: Duration = Duration::from_secs(20);
/// Visibility timeout of a queue that does not set one.
const DEFAULT_VISIBILITY: Duration = Duration::from_secs(30);

/// A running SQS.
#[derive(Debug)]
pub(crate) struct Sqs(Server);

impl Sqs {
    /// Starts an SQS without queues. Requests have to be signed with one of the keys.
    pub(super) async fn start(address: SocketAddr, keys: &ServiceKeys) -> Result<Self, Error> {
        let verifier = Verifier { keys: keys.clone(), service: "sqs", max_bytes: MAX_REQUEST_BYTES };
        let router = router().layer(from_fn_with_state(Arc::new(verifier), verify));
        Ok(Self(listen(address).await?.serve(router)))
    }

    pub(crate) fn url(&self) -> &str {
        self.0.url()
    }
}

fn router() -> Router {
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
        Err(_) => Err(SqsError("InvalidParameterValue")),
    };
    let (status, body) = match answered {
        Ok(body) => (StatusCode::OK, body),
        Err(SqsError(code)) => {
            (StatusCode::BAD_REQUEST, json!({ "__type": format!("com.amazonaws.sqs#{code}") }))
        }
    };
    (status, [(header::CONTENT_TYPE, "application/x-amz-json-1.0")], body.to_string()).into_response()
}

/// An error code.
#[derive(Debug)]
struct SqsError(&'static str);

/// Input of any supported action.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Input {
    queue_name: String,
    queue_url: String,
    attributes: BTreeMap<String, String>,
    message_body: String,
    message_group_id: Option<String>,
    message_attributes: Value,
    delay_seconds: u64,
    max_number_of_messages: Option<usize>,
    wait_time_seconds: u64,
    receipt_handle: String,
    visibility_timeout: Option<u64>,
}

/// Refuses a body that SQS refuses: one over 1 MiB, or with a character that isn't allowed in XML.
fn check_body(body: &str) -> Result<(), SqsError> {
    let is_allowed =
        |c: char| !matches!(c, '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}');
    if body.is_empty() || body.len() > MAX_MESSAGE_BYTES {
        return Err(SqsError("InvalidParameterValue"));
    }
    if body.chars().all(is_allowed) { Ok(()) } else { Err(SqsError("InvalidMessageContents")) }
}

/// Every queue by name, and the notification that wakes receivers when a message arrives.
#[derive(Debug, Default)]
struct Queues(Mutex<BTreeMap<String, Queue>>, Notify);

#[derive(Debug)]
struct Queue {
    visibility: Duration,
    /// Dead-letter queue, and the number of receives after which a message moves there.
    dead_letters: Option<(String, u64)>,
    messages: Vec<Message>,
}

#[derive(Debug)]
struct Message {
    id: String,
    body: String,
    /// Messages without a group are a group each.
    group: Option<String>,
    attributes: Value,
    sent: SystemTime,
    first_received: SystemTime,
    receives: u64,
    visible: Instant,
    receipt: String,
}

impl Queues {
    async fn answer(&self, action: &str, input: Input, host: &str) -> Result<Value, SqsError> {
        let name = input.queue_url.rsplit('/').next().unwrap_or_default();
        match action {
            "CreateQueue" => Ok(self.create(&input, host)),
            "SendMessage" => {
                let check = || check_body(&input.message_body);
                let sent = self.with_queue(name, |queue| check().map(|()| queue.send(&input)));
                self.1.notify_waiters();
                sent?
            }
            "ReceiveMessage" => self.receive(name, &input).await,
            "DeleteMessage" => self.with_queue(name, |queue| {
                queue.messages.retain(|message| message.receipt != input.receipt_handle);
                json!({})
            }),
            "ChangeMessageVisibility" => self.with_queue(name, |queue| {
                let visible =
                    Instant::now() + Duration::from_secs(input.visibility_timeout.unwrap_or_default());
                let mut messages = queue.messages.iter_mut();
                if let Some(message) = messages.find(|message| message.receipt == input.receipt_handle) {
                    message.visible = visible;
                }
                json!({})
            }),
            "GetQueueAttributes" => self.with_queue(name, |queue| queue.depth()),
            "PurgeQueue" => self.with_queue(name, |queue| {
                queue.messages.clear();
                json!({})
            }),
            _ => Err(SqsError("UnsupportedOperation")),
        }
    }

    fn create(&self, input: &Input, host: &str) -> Value {
        let attribute = |name: &str| input.attributes.get(name).map(String::as_str).unwrap_or_default();
        let redrive: Value = serde_json::from_str(attribute("RedrivePolicy")).unwrap_or_default();
        let target = redrive.get("deadLetterTargetArn").and_then(Value::as_str);
        let target = target.and_then(|arn| arn.rsplit(':').next());
        let max = redrive.get("maxReceiveCount").and_then(Value::as_u64);
        let queue = Queue {
            visibility: attribute("VisibilityTimeout")
                .parse()
                .map_or(DEFAULT_VISIBILITY, Duration::from_secs),
            dead_letters: target.map(str::to_owned).zip(max),
            messages: Vec::new(),
        };
        self.lock().entry(input.queue_name.clone()).or_insert(queue);
        json!({ "QueueUrl": format!("http://{host}/{ACCOUNT}/{}", input.queue_name) })
    }

    async fn receive(&self, name: &str, input: &Input) -> Result<Value, SqsError> {
        let max = input.max_number_of_messages.unwrap_or(1).clamp(1, 10);
        let until = Instant::now() + Duration::from_secs(input.wait_time_seconds).min(MAX_WAIT);
        loop {
            let received = self.take_visible(name, max, input.visibility_timeout)?;
            if !received.is_empty() {
                return Ok(json!({ "Messages": received }));
            }
            if Instant::now() >= until {
                return Ok(json!({}));
            }
            // A message that arrived after the check is seen in the next one.
            let _ = tokio::time::timeout(POLL_INTERVAL, self.1.notified()).await;
        }
    }

    /// Receives visible messages, which become invisible. Messages that were received too often move to the
    /// dead-letter queue.
    fn take_visible(
        &self,
        name: &str,
        max: usize,
        visibility_seconds: Option<u64>,
    ) -> Result<Vec<Value>, SqsError> {
        let mut queues = self.lock();
        let queue = queues.get_mut(name).ok_or(SqsError("QueueDoesNotExist"))?;
        let dead = queue.take_dead_letters();
        let received = queue.receive(max, visibility_seconds.map(Duration::from_secs));
        if let Some((target, _)) = queue.dead_letters.clone()
            && let Some(target) = queues.get_mut(&target)
        {
            target.messages.extend(dead);
        }
        Ok(received)
    }

    fn with_queue<T>(&self, name: &str, work: impl FnOnce(&mut Queue) -> T) -> Result<T, SqsError> {
        self.lock().get_mut(name).map(work).ok_or(SqsError("QueueDoesNotExist"))
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
            group: input.message_group_id.clone(),
            attributes: input.message_attributes.clone(),
            sent: now,
            first_received: now,
            receives: 0,
            visible: Instant::now() + Duration::from_secs(input.delay_seconds),
            receipt: String::new(),
        });
        answer
    }

    /// Returns the numbers of visible, delayed and in-flight messages.
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

    /// Removes the messages that were received as often as allowed.
    fn take_dead_letters(&mut self) -> Vec<Message> {
        let Some((_, max)) = self.dead_letters else { return Vec::new() };
        let now = Instant::now();
        let dead = self.messages.extract_if(.., |message| message.receives >= max && message.visible <= now);
        dead.map(|message| Message { receives: 0, receipt: String::new(), ..message }).collect()
    }

    /// Receives messages of the groups with the fewest messages in flight first, as a fair queue does.
    fn receive(&mut self, max: usize, visibility: Option<Duration>) -> Vec<Value> {
        let (now, visibility) = (Instant::now(), visibility.unwrap_or(self.visibility));
        let mut of_group: BTreeMap<Option<String>, usize> = BTreeMap::new();
        let mut rank = |group: &Option<String>| match of_group.entry(group.clone()).or_default() {
            _ if group.is_none() => 0,
            count => std::mem::replace(count, *count + 1),
        };
        for in_flight in self.messages.iter().filter(|message| message.visible > now && message.receives > 0)
        {
            rank(&in_flight.group);
        }
        let visible = self.messages.iter_mut().filter(|message| message.visible <= now);
        let mut ranked: Vec<_> = visible.map(|message| (rank(&message.group), message)).collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        ranked.into_iter().take(max).map(|(_, message)| message.received(now + visibility)).collect()
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
        let mut attributes = json!({
            "SenderId": ACCESS_KEY,
            "SentTimestamp": millis(self.sent),
            "ApproximateReceiveCount": self.receives.to_string(),
            "ApproximateFirstReceiveTimestamp": millis(self.first_received),
        });
        if let (Value::Object(attributes), Some(group)) = (&mut attributes, &self.group) {
            attributes.insert("MessageGroupId".to_owned(), group.as_str().into());
        }
        let mut message = json!({
            "MessageId": self.id,
            "ReceiptHandle": self.receipt,
            "Body": self.body,
            "MD5OfBody": md5(self.body.as_bytes()),
            "Attributes": attributes,
        });
        if let (Value::Object(message), false) = (&mut message, self.attributes.is_null()) {
            message.insert("MessageAttributes".to_owned(), self.attributes.clone());
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUE: &str = "http://localhost/1/q";

    async fn call(queues: &Queues, action: &str, input: Value) -> Value {
        queues.answer(action, serde_json::from_value(input).unwrap(), "localhost").await.unwrap()
    }

    #[tokio::test]
    async fn deleted_message_leaves_nothing_behind() {
        let queues = Queues::default();
        call(&queues, "CreateQueue", json!({ "QueueName": "q" })).await;
        for n in 0..1_000 {
            call(&queues, "SendMessage", json!({ "QueueUrl": QUEUE, "MessageBody": n.to_string() })).await;
            let received = call(&queues, "ReceiveMessage", json!({ "QueueUrl": QUEUE })).await;
            let message = &received["Messages"][0];
            assert_eq!(message["Body"], n.to_string());
            let receipt = &message["ReceiptHandle"];
            call(&queues, "DeleteMessage", json!({ "QueueUrl": QUEUE, "ReceiptHandle": receipt })).await;
        }
        let queues = queues.lock();
        // The destructuring lists every field of a queue.
        let Queue { visibility: _, dead_letters: None, messages } = &queues["q"] else {
            panic!("{queues:?}")
        };
        assert_eq!((queues.len(), messages.len(), messages.capacity() < 10), (1, 0, true));
    }

    #[tokio::test]
    async fn queue_reports_message_counts() {
        let queues = Queues::default();
        call(&queues, "CreateQueue", json!({ "QueueName": "q" })).await;
        for delay in [0, 0, 60] {
            let message = json!({ "QueueUrl": QUEUE, "MessageBody": "m", "DelaySeconds": delay });
            call(&queues, "SendMessage", message).await;
        }
        call(&queues, "ReceiveMessage", json!({ "QueueUrl": QUEUE })).await;
        let response = call(&queues, "GetQueueAttributes", json!({ "QueueUrl": QUEUE })).await;
        let count = |name: &str| response["Attributes"][format!("ApproximateNumberOfMessages{name}")].clone();
        assert_eq!([count(""), count("Delayed"), count("NotVisible")], ["1", "1", "1"]);
    }

    #[tokio::test]
    async fn receiver_sets_and_changes_the_visibility() {
        let queues = Queues::default();
        call(&queues, "CreateQueue", json!({ "QueueName": "q" })).await;
        call(&queues, "SendMessage", json!({ "QueueUrl": QUEUE, "MessageBody": "m" })).await;
        let receive = |seconds: u64| json!({ "QueueUrl": QUEUE, "VisibilityTimeout": seconds });
        assert!(call(&queues, "ReceiveMessage", receive(0)).await["Messages"].is_array());
        let received = call(&queues, "ReceiveMessage", receive(60)).await;
        assert_eq!(call(&queues, "ReceiveMessage", receive(60)).await, json!({}));
        let receipt = &received["Messages"][0]["ReceiptHandle"];
        let change = json!({ "QueueUrl": QUEUE, "ReceiptHandle": receipt, "VisibilityTimeout": 0 });
        call(&queues, "ChangeMessageVisibility", change).await;
        let received = call(&queues, "ReceiveMessage", receive(60)).await;
        assert_eq!(received["Messages"][0]["Attributes"]["ApproximateReceiveCount"], "3");
    }

    #[tokio::test]
    async fn quiet_group_is_received_before_the_rest_of_a_busy_one() {
        let queues = Queues::default();
        call(&queues, "CreateQueue", json!({ "QueueName": "q" })).await;
        for group in ["busy", "busy", "busy", "quiet"] {
            let message = json!({ "QueueUrl": QUEUE, "MessageBody": group, "MessageGroupId": group });
            call(&queues, "SendMessage", message).await;
        }
        let mut order = Vec::new();
        for _ in 0..4 {
            let received = call(&queues, "ReceiveMessage", json!({ "QueueUrl": QUEUE })).await;
            let message = &received["Messages"][0];
            assert_eq!(message["Attributes"]["MessageGroupId"], message["Body"]);
            order.push(message["Body"].as_str().unwrap().to_owned());
        }
        assert_eq!(order, ["busy", "quiet", "busy", "busy"]);
    }

    #[tokio::test]
    async fn body_that_sqs_refuses_is_refused() {
        let queues = Queues::default();
        call(&queues, "CreateQueue", json!({ "QueueName": "q" })).await;
        let large = "x".repeat(MAX_MESSAGE_BYTES + 1);
        for (body, code) in [
            (large.as_str(), "InvalidParameterValue"),
            ("", "InvalidParameterValue"),
            ("a\u{8}", "InvalidMessageContents"),
        ] {
            let input = json!({ "QueueUrl": QUEUE, "MessageBody": body });
            let input = serde_json::from_value(input).unwrap();
            assert_eq!(queues.answer("SendMessage", input, "localhost").await.unwrap_err().0, code);
        }
    }

    #[tokio::test]
    async fn unknown_queue_and_action_are_refused() {
        let queues = Queues::default();
        for (action, code) in [("SendMessage", "QueueDoesNotExist"), ("TagQueue", "UnsupportedOperation")] {
            let refused = queues.answer(action, Input::default(), "localhost").await.unwrap_err();
            assert_eq!(refused.0, code);
        }
    }
}
