//! Read and write units of a turn, as the service counts them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use axum::{Router, body::Bytes, extract::State, http::HeaderMap, response::IntoResponse};
use local::Options;
use serde_json::{Value, json};

use crate::support::{Answer, System, options, turn, turn_in, turn_path};

/// The meter's name for writes of checkpoints.
const CHECKPOINT: &str = "Checkpoint";

/// Stands between the functions and the table, asks for every call's consumed capacity, and adds it up.
#[derive(Clone, Default)]
pub struct Meter {
    table: Arc<Mutex<String>>,
    units: Arc<Mutex<BTreeMap<String, f64>>>,
}

impl Meter {
    async fn start() -> (Self, String) {
        let meter = Self::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(pass).with_state(meter.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (meter, url)
    }

    /// Returns the write units and read units used since the last call.
    pub fn take(&self) -> (f64, f64, BTreeMap<String, f64>) {
        let units = std::mem::take(&mut *self.units.lock().unwrap());
        let is_read = |name: &str| ["GetItem", "Query", "BatchGetItem"].contains(&name);
        let sum = |reads: bool| {
            units.iter().filter(|(name, _)| is_read(name) == reads).map(|(_, units)| units).sum()
        };
        (sum(false), sum(true), units)
    }
}

async fn pass(State(meter): State<Meter>, headers: HeaderMap, body: Bytes) -> impl IntoResponse {
    let operation = headers["x-amz-target"].to_str().unwrap().rsplit('.').next().unwrap().to_owned();
    let mut request: Value = serde_json::from_slice(&body).unwrap();
    request["ReturnConsumedCapacity"] = json!("INDEXES");
    let table = meter.table.lock().unwrap().clone();
    let mut forward = reqwest::Client::new().post(table).body(request.to_string());
    for name in ["x-amz-target", "content-type", "authorization", "x-amz-date"] {
        forward = forward.header(name, headers[name].clone());
    }
    let response = forward.send().await.unwrap();
    let (status, kind) = (response.status(), response.headers()["content-type"].clone());
    let text = response.text().await.unwrap();
    let answer: Value = serde_json::from_str(&text).unwrap();
    let consumed = match &answer["ConsumedCapacity"] {
        Value::Array(tables) => tables.clone(),
        Value::Null => Vec::new(),
        table => vec![table.clone()],
    };
    // What a stream costs is told apart from what every turn costs.
    let is_checkpoint = request["Item"]["SK"]["S"].as_str().is_some_and(|key| key.starts_with("STREAM#"));
    let operation = if is_checkpoint { CHECKPOINT.to_owned() } else { operation };
    let units: f64 = consumed.iter().filter_map(|table| table["CapacityUnits"].as_f64()).sum();
    *meter.units.lock().unwrap().entry(operation).or_default() += units;
    (status, [("content-type", kind)], text)
}

impl Meter {
    /// A running system whose functions are metered.
    pub async fn system() -> (Self, System) {
        let (meter, url) = Self::start().await;
        let mut options: Options = options();
        options.environment.insert("AWS_ENDPOINT_URL_DYNAMODB".to_owned(), url);
        let system = System::with(options).await;
        *meter.table.lock().unwrap() = system.cloud.endpoints().dynamodb.clone();
        (meter, system)
    }
}

#[tokio::test]
async fn ordinary_turn_costs_at_most_20_write_and_4_read_units() {
    let (meter, system) = Meter::system().await;
    let ada = system.client("acme", "ada");

    let first = turn(&"A question of some length. ".repeat(20));
    let second = turn_in(first["SessionId"].as_str().unwrap(), &"Another question, as long. ".repeat(20));
    // The first one brings its user's place in the session.
    for (name, sent, most) in [("first turn of a session", &first, 21.0), ("next turn", &second, 20.0)] {
        meter.take();
        let started = Instant::now();
        ada.execute(sent).await.result();
        // A turn that takes longer is looked at, once before the model call and then every second.
        let took = started.elapsed();
        let looks = if took < Duration::from_millis(250) { 0.0 } else { 1.0 + took.as_secs_f64().floor() };
        // Finalization is seen in the table itself, so that looking costs nothing here.
        let head = format!("TURN#{}", sent["TurnId"].as_str().unwrap());
        system.until_attribute(&head, "Status", "completed").await;
        let (writes, reads, units) = meter.take();
        println!("{name}: {writes} write units, {reads} read units {units:?}");
        assert!((5.0..=most).contains(&writes), "{name}: {writes} write units");
        assert!((1.0..=4.0 + looks).contains(&reads), "{name}: {reads} read units");
    }
    let done = |answer: &Answer| answer.json()["Result"]["Status"]["Id"] == "completed";
    assert!(done(&ada.get(&turn_path(&second)).await));
}

#[tokio::test]
async fn turn_makes_three_s3_calls_and_one_sqs_call() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let first = turn("A question");
    let second = turn_in(first["SessionId"].as_str().unwrap(), "Another question");
    for (name, sent) in [("first turn of a session", &first), ("next turn", &second)] {
        system.roles.take_counts();
        ada.execute(sent).await.result();
        let head = format!("TURN#{}", sent["TurnId"].as_str().unwrap());
        system.until_attribute(&head, "Status", "completed").await;
        let counts = system.roles.take_counts();
        println!("{name}: {counts:?}");
        let of = |prefix: &str| {
            counts.iter().filter(|(action, _)| action.starts_with(prefix)).map(|(_, n)| n).sum()
        };
        let (objects, messages): (u32, u32) = (of("s3:"), of("sqs:"));
        assert!(objects == 3 && messages == 1, "{name}: {counts:?}");
    }
}

#[tokio::test]
async fn stream_costs_one_small_write_per_second_after_the_first() {
    let (meter, system) = Meter::system().await;
    let ada = system.client("acme", "ada");
    for script in ["words 20", "pace 25ms; words 140"] {
        meter.take();
        let sent = turn(&format!("Count [[script: {script}]]"));
        let started = Instant::now();
        let events = ada.execute_streaming(&sent, None).await.unwrap_or_else(|_| panic!("it is streamed"));
        events.rest().await;
        let seconds = started.elapsed().as_secs();
        let (_, _, units) = meter.take();
        let key = format!("STREAM#{}#", sent["TurnId"].as_str().unwrap());
        let items = system.items().await;
        let checkpoints: Vec<_> =
            items.into_iter().filter(|item| item["SK"].as_s().unwrap().starts_with(&key)).collect();
        let cost = units.get(CHECKPOINT).copied().unwrap_or_default();
        println!("{script}: {} checkpoints in {seconds} s, {cost} write units", checkpoints.len());
        assert!(checkpoints.len() as u64 <= seconds, "{} in {seconds} s", checkpoints.len());
        assert!(script == "words 20" || !checkpoints.is_empty(), "a stream of seconds leaves checkpoints");
        assert!(cost <= 2.0 * checkpoints.len() as f64, "{cost} units for {}", checkpoints.len());
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        for checkpoint in checkpoints {
            let expires: u64 = checkpoint["ExpiresAt"].as_n().unwrap().parse().unwrap();
            assert!((now..=now + 3_700).contains(&expires), "{expires} at {now}");
        }
    }
}
