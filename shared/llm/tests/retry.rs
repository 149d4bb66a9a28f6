//! Retries, against the mock model over the loopback. The clock records the delays instead of waiting.

// Clippy allows `unwrap` only in functions marked as tests, and not in their helpers.
#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::model::model_settings::ModelSettings;
use agent::model::{Chain, Instruction, Message, Model, Observer, Request};
use llm::clock::Clock;
use llm::key::KeySource;
use llm::{ApiKey, Client, Config, Error};
use mock_model::{Provider, Recorder};
use tokio::net::TcpListener;
use tokio::time::Instant;

/// A clock that advances only by sleeping.
#[derive(Clone)]
struct RecordingClock {
    started: Instant,
    jitter: f64,
    delays: Arc<Mutex<Vec<Duration>>>,
}

impl RecordingClock {
    fn new(jitter: f64) -> Self {
        Self { started: Instant::now(), jitter, delays: Arc::default() }
    }

    fn delays(&self) -> Vec<Duration> {
        self.delays.lock().unwrap().clone()
    }
}

impl Clock for RecordingClock {
    fn now(&self) -> Instant {
        self.started + self.delays().iter().sum()
    }

    async fn sleep(&self, duration: Duration) {
        self.delays.lock().unwrap().push(duration);
    }

    fn jitter(&self) -> f64 {
        self.jitter
    }
}

/// The outcome of a call: the reply, the number of requests and the delays between them.
#[derive(Debug, PartialEq)]
struct Outcome {
    reply: Result<String, Error>,
    requests: usize,
    delays: Vec<Duration>,
}

async fn call(script: &str, deadline: Duration, jitter: f64) -> Outcome {
    call_with_key(ApiKey::new("key"), script, deadline, jitter).await
}

async fn call_with_key(keys: impl KeySource, script: &str, deadline: Duration, jitter: f64) -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    let recorder = Recorder::default();
    tokio::spawn(mock_wires::serve(listener, Provider::default(), recorder.clone()));
    let clock = RecordingClock::new(jitter);
    let reply = send(base, keys, script, deadline, &clock).await;
    Outcome { reply, requests: recorder.count(), delays: clock.delays() }
}

async fn send(
    base: String,
    keys: impl KeySource,
    script: &str,
    deadline: Duration,
    clock: &RecordingClock,
) -> Result<String, Error> {
    let client =
        Client::new(Config { base_url: base, ..Config::default() }, keys).unwrap().with_clock(clock.clone());
    let request = Request {
        provider: None,
        model: "scripted".to_owned(),
        settings: ModelSettings::default(),
        identifiers: None,
        store: true,
        chain: Chain::Initial { system: String::new(), parts: Vec::new(), history: Vec::new() },
        message: Message {
            instruction: Instruction::User(format!("[[script: {script}]]")),
            ..Message::in_mode("general")
        },
        tools: Vec::new(),
        tool_choice: None,
        wants_reasoning: false,
    };
    client.reply(&request, deadline, &mut Observer::new(&mut |_| {})).await.map(|reply| reply.text)
}

const PATIENT: Duration = Duration::from_secs(600);

fn millis(delays: &[u64]) -> Vec<Duration> {
    delays.iter().copied().map(Duration::from_millis).collect()
}

#[tokio::test]
async fn transient_errors_back_off_half_a_second_then_one() {
    for status in [408, 409, 429, 500, 503, 529] {
        let script = format!(r#"status {status} times 2; say "ok""#);
        let outcome = call(&script, PATIENT, 0.0).await;
        let expected = Outcome { reply: Ok("ok".to_owned()), requests: 3, delays: millis(&[500, 1_000]) };
        assert_eq!(outcome, expected, "{status}");
    }
    let dropped = call(r#"drop times 1; say "ok""#, PATIENT, 0.0).await;
    assert_eq!(dropped, Outcome { reply: Ok("ok".to_owned()), requests: 2, delays: millis(&[500]) });
    let exhausted = call("status 503", PATIENT, 0.0).await;
    assert_eq!(
        exhausted,
        Outcome { reply: Err(Error::UNAVAILABLE), requests: 3, delays: millis(&[500, 1_000]) }
    );
}

#[tokio::test]
async fn jitter_shortens_each_delay_by_at_most_a_quarter() {
    for (jitter, delays) in [(1.0, [375, 750]), (0.5, [437, 875])] {
        let outcome = call(r#"status 500 times 2; say "ok""#, PATIENT, jitter).await;
        let actual: Vec<u128> = outcome.delays.iter().map(Duration::as_millis).collect();
        assert_eq!(actual, delays);
    }
}

#[tokio::test]
async fn connection_failure_is_retried() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let clock = RecordingClock::new(0.0);
    let reply = send(base, ApiKey::new("key"), "echo", PATIENT, &clock).await;
    assert_eq!((reply, clock.delays()), (Err(Error::UNAVAILABLE), millis(&[500, 1_000])));
}

#[tokio::test]
async fn retry_after_header_sets_the_delay() {
    for (header, expected_ms) in
        [("retry-after 7", 7_000), ("retry-after-ms 70", 70), ("retry-after 60", 60_000)]
    {
        let outcome = call(&format!(r#"status 429 {header} times 1; say "ok""#), PATIENT, 1.0).await;
        let expected = Outcome { reply: Ok("ok".to_owned()), requests: 2, delays: millis(&[expected_ms]) };
        assert_eq!(outcome, expected, "{header}");
    }
    let limited = Err(Error::RateLimited { retry_after: Some(Duration::from_secs(61)) });
    let outcome = call("status 429 retry-after 61", PATIENT, 0.0).await;
    assert_eq!(outcome, Outcome { reply: limited, requests: 1, delays: Vec::new() });
}

#[tokio::test]
async fn delay_past_the_deadline_ends_the_call() {
    let outcome = call("status 429 retry-after 20", Duration::from_secs(35), 0.0).await;
    let limited = Err(Error::RateLimited { retry_after: Some(Duration::from_secs(20)) });
    assert_eq!(outcome, Outcome { reply: limited, requests: 2, delays: millis(&[20_000]) });
}

#[tokio::test]
async fn permanent_and_started_failures_are_not_retried() {
    let started = ["reset after 6 events", "cut after 6 events", "unended", "fail", "error"];
    let permanent = ["status 400", "status 404", "status 422", "status 500 x-should-retry false"];
    for script in started.into_iter().chain(permanent) {
        let outcome = call(&format!("say \"Half of it.\"; {script}"), PATIENT, 0.0).await;
        assert!(outcome.reply.is_err(), "{script}");
        assert_eq!((outcome.requests, outcome.delays), (1, Vec::new()), "{script}");
    }
}

/// Returns two keys in turn and records the rejected ones.
struct RotatedKeys<'a> {
    keys: [&'static str; 2],
    rejected: &'a Mutex<Vec<Option<ApiKey>>>,
}

impl KeySource for RotatedKeys<'_> {
    async fn key(&self, rejected: Option<&ApiKey>) -> Result<ApiKey, Error> {
        self.rejected.lock().unwrap().push(rejected.cloned());
        let [first, second] = self.keys;
        Ok(ApiKey::new(if rejected.is_some() { second } else { first }))
    }
}

#[tokio::test]
async fn rejected_key_is_refreshed_once_without_delay() {
    for (second, reply, requests) in [
        ("fresh", Ok("ok".to_owned()), 2),
        ("invalid-too", Err(Error::Unauthenticated), 2),
        ("invalid-first", Err(Error::Unauthenticated), 1),
    ] {
        let rejected = Mutex::default();
        let keys = RotatedKeys { keys: ["invalid-first", second], rejected: &rejected };
        let outcome = call_with_key(keys, r#"say "ok""#, PATIENT, 0.0).await;
        assert_eq!(outcome, Outcome { reply, requests, delays: Vec::new() }, "{second}");
        assert_eq!(*rejected.lock().unwrap(), [None, Some(ApiKey::new("invalid-first"))]);
    }
}
