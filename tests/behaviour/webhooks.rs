//! Webhooks: signed deliveries of turns' events to a receiver of the test's own.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU16, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
};
use contracts::paths::{
    AGENTS, WEBHOOKS, webhook_deliveries, webhook_replay, webhook_secret, webhook_status, webhook_test,
};
use local::Options;
use reqwest::Method;
use serde_json::{Value, json};
use standardwebhooks::Webhook;
use tokio::{net::TcpListener, task::JoinHandle};

use crate::agents::{editor, put};
use crate::export::operator;
use crate::support::{Client, PATIENCE, System, id, options, session_path, turn, turn_in, turn_path};

/// A request that the receiver got.
#[derive(Debug, Clone)]
pub struct Received {
    pub headers: HeaderMap,
    pub body: String,
}

impl Received {
    pub fn id(&self) -> String {
        self.headers["webhook-id"].to_str().unwrap().to_owned()
    }

    pub fn event(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// True if the library for receivers accepts the request with this secret.
    fn verifies(&self, secret: &str) -> bool {
        Webhook::new(secret).unwrap().verify(self.body.as_bytes(), &self.headers).is_ok()
    }
}

/// A receiver that responds with a status.
pub struct Receiver {
    pub url: String,
    received: Arc<Mutex<Vec<Received>>>,
    status: Arc<AtomicU16>,
    server: JoinHandle<std::io::Result<()>>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.server.abort();
    }
}

type Shared = (Arc<Mutex<Vec<Received>>>, Arc<AtomicU16>);

impl Receiver {
    pub async fn start() -> Self {
        let (received, status): Shared = (Arc::default(), Arc::new(AtomicU16::new(204)));
        let shared = (Arc::clone(&received), Arc::clone(&status));
        let router = Router::new().fallback(answer).with_state(shared);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, received, status, server }
    }

    pub fn respond(&self, status: u16) {
        self.status.store(status, Ordering::Relaxed);
    }

    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Waits until it got this many requests.
    pub async fn until(&self, number: usize) -> Vec<Received> {
        self.until_all(|received| received.len() >= number).await
    }

    /// Waits until it got the wanted requests.
    async fn until_all(&self, wanted: impl Fn(&[Received]) -> bool) -> Vec<Received> {
        let waits = async {
            while !wanted(&self.received()) {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waits).await;
        let received = self.received();
        assert!(waited.is_ok(), "{}: {received:?}", received.len());
        received
    }
}

async fn answer(
    State((received, status)): State<Shared>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, [(&'static str, &'static str); 1], String) {
    let body = String::from_utf8(body.to_vec()).unwrap();
    received.lock().unwrap().push(Received { headers, body });
    // Text of the receiver, which must not appear anywhere.
    let status = StatusCode::from_u16(status.load(Ordering::Relaxed)).unwrap();
    let pause = if status == StatusCode::TOO_MANY_REQUESTS { "7" } else { "0" };
    (status, [("retry-after", pause)], "receiver-text".to_owned())
}

/// A webhook with the receiver's URL.
pub fn document(url: &str) -> Value {
    json!({ "Name": "Hook", "Url": url, "Events": ["turn.completed", "turn.failed", "effect.unknown"] })
}

/// Creates a webhook with a secret, which it returns.
pub async fn subscribe(olga: &Client, webhook: &str, document: &Value) -> String {
    put(olga, &WEBHOOKS.context(webhook), document).await.result();
    rotate(olga, webhook).await["Secret"].as_str().unwrap().to_owned()
}

async fn rotate(olga: &Client, webhook: &str) -> Value {
    olga.send(Method::POST, &webhook_secret(webhook), None).await.result()
}

/// Waits until a delivery has a state, and returns it.
async fn until_state(olga: &Client, webhook: &str, state: &str) -> Value {
    let is_there = |answer: &crate::support::Answer| {
        answer.result()["Items"].as_array().unwrap().iter().any(|item| item["State"] == state)
    };
    let listed = olga.until(&webhook_deliveries(webhook), PATIENCE, is_there).await.result();
    listed["Items"].as_array().unwrap().iter().find(|item| item["State"] == state).unwrap().clone()
}

/// Delivers an event in a system, for other tests.
pub async fn deliver_an_event(system: &System) {
    let (receiver, olga) = (Receiver::start().await, operator(system, "hooked"));
    subscribe(&olga, "hook", &document(&receiver.url)).await;
    system.client("hooked", "ada").execute(&turn("Hello")).await.result();
    receiver.until(1).await;
    let delivered = until_state(&olga, "hook", "delivered").await;
    let again = json!({ "SessionId": delivered["SessionId"], "DeliveryId": delivered["DeliveryId"] });
    olga.post(&webhook_replay("hook"), again.to_string()).await.result();
    system.cloud.sweep().await.unwrap();
    receiver.until(2).await;
}

#[tokio::test]
async fn completed_turn_is_delivered_signed_and_without_content() {
    let (system, receiver) = (System::start().await, Receiver::start().await);
    let (olga, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    let secret = subscribe(&olga, "hook", &document(&receiver.url)).await;
    assert!(secret.starts_with("whsec_"), "{secret}");
    let asks = turn("Tell a confidential word [[script: say \"Confidential answer.\"]]");
    ada.execute(&asks).await.result();
    let received = receiver.until(1).await;
    assert!(received[0].verifies(&secret));
    assert!(!received[0].verifies("whsec_bm90IHRoZSBzZWNyZXQgYXQgYWxs"));
    let event = received[0].event();
    assert_eq!(event["type"], "turn.completed");
    assert_eq!(event["data"]["SessionId"], asks["SessionId"]);
    assert_eq!(event["data"]["TurnId"], asks["TurnId"]);
    assert_eq!(event["data"]["Status"], "completed");
    assert_eq!(event["data"]["Links"]["Turn"], turn_path(&asks));
    assert!(!received[0].body.to_lowercase().contains("confidential"), "{}", received[0].body);
    let delivered = until_state(&olga, "hook", "delivered").await;
    assert_eq!((&delivered["Attempts"], &delivered["LastStatusCode"]), (&json!(1), &json!(204)));
    assert_eq!(delivered["DeliveryId"], received[0].id());
}

#[tokio::test]
async fn webhook_with_content_gets_instruction_and_answer() {
    let (system, receiver) = (System::start().await, Receiver::start().await);
    let (olga, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    let mut wants = document(&receiver.url);
    wants["WithContent"] = json!(true);
    subscribe(&olga, "hook", &wants).await;
    ada.execute(&turn("Tell [[script: say \"The whole answer.\"]]")).await.result();
    let event = receiver.until(1).await[0].event();
    assert_eq!(event["data"]["Answer"], "The whole answer.");
    assert!(event["data"]["Instruction"].as_str().unwrap().starts_with("Tell"), "{event}");
}

#[tokio::test]
async fn filters_of_events_and_agents_choose_what_is_delivered() {
    let (system, receiver) = (System::start().await, Receiver::start().await);
    let (olga, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    put(&olga, &AGENTS.context("helper"), &json!({ "Name": "Helper" })).await.result();
    let mut failures = document(&receiver.url);
    failures["Events"] = json!(["turn.failed"]);
    subscribe(&olga, "failures", &failures).await;
    let mut of_helper = document(&receiver.url);
    of_helper["Agents"] = json!(["helper"]);
    subscribe(&olga, "of-helper", &of_helper).await;
    ada.execute(&turn("By the default agent")).await.result();
    let failed = turn("[[script: fail bio_policy]]");
    assert_ne!(ada.execute(&failed).await.status, 200);
    let mut helped = turn("By the helper");
    helped["AgentContextId"] = json!("helper");
    ada.execute(&helped).await.result();
    let received = receiver.until(2).await;
    let got: BTreeMap<String, Value> = received
        .iter()
        .map(|one| (one.event()["type"].as_str().unwrap().to_owned(), one.event()["data"]["TurnId"].clone()))
        .collect();
    assert_eq!(received.len(), 2, "{received:?}");
    assert_eq!(got["turn.failed"], failed["TurnId"]);
    assert_eq!(got["turn.completed"], helped["TurnId"]);
}

#[tokio::test]
async fn events_of_a_session_arrive_in_order_after_failures() {
    let (system, receiver) = (System::start().await, Receiver::start().await);
    let (olga, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    subscribe(&olga, "hook", &document(&receiver.url)).await;
    receiver.respond(503);
    let session = id();
    let turns: Vec<Value> = (0..3).map(|n| turn_in(&session, &format!("Number {n}"))).collect();
    for turn in &turns {
        ada.execute(turn).await.result();
    }
    receiver.until(1).await;
    let failing = until_state(&olga, "hook", "pending").await;
    assert!(!failing.to_string().contains("receiver-text"), "{failing}");
    receiver.respond(200);
    let is_last = |one: &Received| one.event()["data"]["TurnId"] == turns[2]["TurnId"];
    let mut order = Vec::new();
    for received in receiver.until_all(|received| received.iter().any(is_last)).await {
        let turn = received.event()["data"]["TurnId"].clone();
        if !order.contains(&turn) {
            order.push(turn);
        }
    }
    let expected: Vec<Value> = turns.iter().map(|turn| turn["TurnId"].clone()).collect();
    assert_eq!(order, expected);
    let first: Vec<String> = receiver.received().iter().take(2).map(Received::id).collect();
    assert_eq!(first[0], first[1], "an attempt has the id of the one before it");
}

#[tokio::test]
async fn receiver_delays_the_next_attempt() {
    let (system, receiver) = (System::start().await, Receiver::start().await);
    let olga = operator(&system, "acme");
    subscribe(&olga, "hook", &document(&receiver.url)).await;
    receiver.respond(429);
    system.client("acme", "ada").execute(&turn("Hello.")).await.result();
    receiver.until(1).await;
    let refused = Instant::now();
    receiver.respond(200);
    receiver.until(2).await;
    // By itself the first pause is 5 seconds at most.
    assert!(refused.elapsed() > Duration::from_secs(6), "{:?}", refused.elapsed());
}

#[tokio::test]
async fn replaced_secret_signs_beside_the_new_one() {
    let (system, receiver) = (System::start().await, Receiver::start().await);
    let (olga, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    let old = subscribe(&olga, "hook", &document(&receiver.url)).await;
    ada.execute(&turn("One")).await.result();
    receiver.until(1).await;
    let rotated = rotate(&olga, "hook").await;
    assert!(rotated["PreviousExpires"].is_string(), "{rotated}");
    let new = rotated["Secret"].as_str().unwrap().to_owned();
    assert_ne!(old, new);
    ada.execute(&turn("Two")).await.result();
    let received = receiver.until(2).await;
    assert!(received[0].verifies(&old) && !received[0].verifies(&new));
    assert!(received[1].verifies(&old) && received[1].verifies(&new));
    let read = olga.get(&WEBHOOKS.context("hook")).await;
    assert!(!read.text.contains("whsec_"), "{}", read.text);
    assert_eq!(olga.get(&webhook_secret("hook")).await.status, 404);
}

#[tokio::test]
async fn test_event_tells_what_came_back() {
    let (system, receiver) = (System::start().await, Receiver::start().await);
    let olga = operator(&system, "acme");
    put(&olga, &WEBHOOKS.context("hook"), &document(&receiver.url)).await.result();
    let path = webhook_test("hook");
    let test = || olga.send(Method::POST, &path, None);
    let untested = test().await.result();
    assert_eq!(untested["IsDelivered"], false);
    assert!(untested["Message"].as_str().unwrap().contains("secret"), "{untested}");
    let secret = rotate(&olga, "hook").await["Secret"].as_str().unwrap().to_owned();
    let tested = test().await.result();
    assert_eq!((&tested["IsDelivered"], &tested["StatusCode"]), (&json!(true), &json!(204)));
    let received = receiver.until(1).await;
    assert!(received[0].verifies(&secret));
    assert_eq!(received[0].event()["type"], "webhook.test");
    receiver.respond(302);
    let refused = test().await;
    assert_eq!(refused.result()["StatusCode"], 302);
    assert!(!refused.text.contains("receiver-text"), "{}", refused.text);
}

#[tokio::test]
async fn gone_receiver_disables_the_webhook_until_a_test_succeeds() {
    let (system, receiver) = (System::start().await, Receiver::start().await);
    let (olga, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    subscribe(&olga, "hook", &document(&receiver.url)).await;
    receiver.respond(410);
    ada.execute(&turn("Gone")).await.result();
    let dead = until_state(&olga, "hook", "dead").await;
    assert_eq!(dead["LastStatusCode"], 410);
    assert!(olga.get(&webhook_status("hook")).await.result()["DisabledSince"].is_string());
    ada.execute(&turn("Held back")).await.result();
    until_state(&olga, "hook", "pending").await;
    receiver.respond(200);
    let tested = olga.send(Method::POST, &webhook_test("hook"), None).await.result();
    assert_eq!(tested["IsDelivered"], true);
    let status = olga.get(&webhook_status("hook")).await.result();
    assert!(status["DisabledSince"].is_null() && status["FailingSince"].is_null(), "{status}");
    // The dead event is delivered by a replay, with the id that it had.
    let since = json!({ "Since": dead["CreationDate"] });
    let replayed = olga.post(&webhook_replay("hook"), since.to_string()).await.result();
    assert_eq!(replayed["Replayed"], 1);
    system.cloud.sweep().await.unwrap();
    let is_dead = |one: &&Received| one.id() == dead["DeliveryId"].as_str().unwrap();
    receiver.until_all(|received| received.iter().filter(is_dead).count() == 2).await;
    until_state(&olga, "hook", "delivered").await;
}

#[tokio::test]
async fn paused_webhook_gets_its_events_once_it_goes_on() {
    let (system, receiver) = (System::start().await, Receiver::start().await);
    let (olga, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    let mut paused = document(&receiver.url);
    paused["Paused"] = json!(true);
    subscribe(&olga, "hook", &paused).await;
    let asks = turn("Held");
    ada.execute(&asks).await.result();
    let held = until_state(&olga, "hook", "pending").await;
    assert_eq!(held["Attempts"], 0);
    put(&olga, &WEBHOOKS.context("hook"), &document(&receiver.url)).await.result();
    let again = json!({ "SessionId": held["SessionId"], "DeliveryId": held["DeliveryId"] });
    assert_eq!(receiver.received().len(), 0);
    olga.post(&webhook_replay("hook"), again.to_string()).await.result();
    system.cloud.sweep().await.unwrap();
    assert_eq!(receiver.until(1).await[0].event()["data"]["TurnId"], asks["TurnId"]);
}

#[tokio::test]
async fn deleted_session_leaves_no_delivery() {
    let environment = [("SESSION_RETENTION_DAYS".to_owned(), "0".to_owned())].into();
    let system = System::with(Options { environment, ..options() }).await;
    let receiver = Receiver::start().await;
    let (olga, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    subscribe(&olga, "hook", &document(&receiver.url)).await;
    let asks = turn("Purge me");
    ada.execute(&asks).await.result();
    receiver.until(1).await;
    until_state(&olga, "hook", "delivered").await;
    ada.send(Method::DELETE, &session_path(&asks), None).await.result();
    let is_empty = |answer: &crate::support::Answer| answer.result()["Items"].as_array().unwrap().is_empty();
    olga.until(&webhook_deliveries("hook"), PATIENCE, is_empty).await;
}

#[tokio::test]
async fn faults_of_a_webhook_are_named_and_nothing_is_stored() {
    let (system, receiver) = (System::start().await, Receiver::start().await);
    let olga = operator(&system, "acme");
    for (member, value) in [
        ("Url", json!("http://169.254.169.254/latest/meta-data/")),
        (
            "Url",
            json!(format!(
                "http://127.0.0.1:{}/",
                system.cloud.endpoints().dynamodb.rsplit(':').next().unwrap()
            )),
        ),
        ("Url", json!("ftp://example.org/")),
        ("Events", json!([])),
        ("Events", json!(["turn.started"])),
        ("Events", json!(["turn.failed", "turn.failed"])),
    ] {
        let mut wrong = document(&receiver.url);
        wrong[member] = value;
        let refused = put(&olga, &WEBHOOKS.context("hook"), &wrong).await;
        assert_eq!(refused.status, 400, "{wrong}");
        assert!(refused.text.contains(member), "{}", refused.text);
    }
    assert_eq!(olga.get(&WEBHOOKS.context("hook")).await.error(), "WebhookNotFound");
    for n in 0..10 {
        put(&olga, &WEBHOOKS.context(&format!("hook-{n}")), &document(&receiver.url)).await.result();
    }
    let eleventh = put(&olga, &WEBHOOKS.context("hook-10"), &document(&receiver.url)).await;
    assert!(eleventh.status == 400 && eleventh.text.contains("at most 10"), "{}", eleventh.text);
    put(&olga, &WEBHOOKS.context("hook-9"), &document(&receiver.url)).await.result();
}

#[tokio::test]
async fn only_operators_of_the_org_reach_its_webhooks() {
    let (system, receiver) = (System::start().await, Receiver::start().await);
    let olga = operator(&system, "acme");
    subscribe(&olga, "hook", &document(&receiver.url)).await;
    let (eddie, ada) = (editor(&system, "acme"), system.client("acme", "ada"));
    for client in [&eddie, &ada] {
        assert_eq!(put(client, &WEBHOOKS.context("hook"), &document(&receiver.url)).await.status, 403);
        assert_eq!(client.send(Method::POST, &webhook_secret("hook"), None).await.status, 403);
        assert_eq!(client.send(Method::POST, &webhook_test("hook"), None).await.status, 403);
        assert_eq!(client.get(&webhook_deliveries("hook")).await.status, 403);
        assert_eq!(client.get(&webhook_status("hook")).await.status, 403);
    }
    let evil = operator(&system, "evil");
    for path in [WEBHOOKS.context("hook"), webhook_deliveries("hook"), webhook_status("hook")] {
        assert_eq!(evil.get(&path).await.error(), "WebhookNotFound");
    }
    assert_eq!(evil.send(Method::POST, &webhook_secret("hook"), None).await.error(), "WebhookNotFound");
    let missing = json!({ "SessionId": "s", "DeliveryId": "evt_0" }).to_string();
    assert_eq!(evil.post(&webhook_replay("hook"), missing.clone()).await.error(), "WebhookNotFound");
    assert_eq!(olga.post(&webhook_replay("hook"), missing).await.error(), "DeliveryNotFound");
    assert_eq!(receiver.received().len(), 0);
}
