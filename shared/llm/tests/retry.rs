//! Asking again, against the scripted model over the loopback: the waits are recorded and not waited.

// The helpers are test code too, which clippy knows of functions marked as tests only.
#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::model::{Chain, Instruction, Message, Model, Observer, Request};
use agent::settings::Settings;
use llm::key::Keys;
use llm::wait::Wait;
use llm::{ApiKey, Client, Config, Error};
use scripted_model::{Provider, Recorder};
use tokio::net::TcpListener;
use tokio::time::Instant;

/// Time that passes by waiting alone.
#[derive(Clone)]
struct Recorded {
    began: Instant,
    chance: f64,
    waits: Arc<Mutex<Vec<Duration>>>,
}

impl Recorded {
    fn new(chance: f64) -> Self {
        Self { began: Instant::now(), chance, waits: Arc::default() }
    }

    fn waits(&self) -> Vec<Duration> {
        self.waits.lock().unwrap().clone()
    }
}

impl Wait for Recorded {
    fn now(&self) -> Instant {
        self.began + self.waits().iter().sum()
    }

    async fn sleep(&self, duration: Duration) {
        self.waits.lock().unwrap().push(duration);
    }

    fn chance(&self) -> f64 {
        self.chance
    }
}

/// What a call came to, how often the provider was asked, and what was waited between.
#[derive(Debug, PartialEq)]
struct Seen {
    reply: Result<String, Error>,
    requests: usize,
    waits: Vec<Duration>,
}

async fn asked(script: &str, deadline: Duration, chance: f64) -> Seen {
    asked_with(ApiKey::new("key"), script, deadline, chance).await
}

async fn asked_with(keys: impl Keys, script: &str, deadline: Duration, chance: f64) -> Seen {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    let recorder = Recorder::default();
    tokio::spawn(scripted_model::serve(listener, Provider::default(), recorder.clone()));
    let wait = Recorded::new(chance);
    let reply = ask(base, keys, script, deadline, &wait).await;
    Seen { reply, requests: recorder.count(), waits: wait.waits() }
}

async fn ask(
    base: String,
    keys: impl Keys,
    script: &str,
    deadline: Duration,
    wait: &Recorded,
) -> Result<String, Error> {
    let client = Client::new(Config { base, ..Config::default() }, keys).unwrap().waiting(wait.clone());
    let request = Request {
        provider: None,
        model: "scripted".to_owned(),
        settings: Settings::default(),
        identifiers: None,
        store: true,
        chain: Chain::Initial { system: String::new(), parts: Vec::new(), told: Vec::new() },
        message: Message {
            instruction: Instruction::User(format!("[[script: {script}]]")),
            ..Message::in_mode("general")
        },
        tools: Vec::new(),
        tool_choice: None,
        reasoning_wanted: false,
    };
    client.reply(&request, deadline, &mut Observer::of(&mut |_| {})).await.map(|reply| reply.text)
}

const PATIENT: Duration = Duration::from_secs(600);

fn millis(waits: &[u64]) -> Vec<Duration> {
    waits.iter().copied().map(Duration::from_millis).collect()
}

#[tokio::test]
async fn what_may_pass_is_asked_again_after_half_a_second_and_then_a_second() {
    for status in [408, 409, 429, 500, 503, 529] {
        let script = format!(r#"status {status} times 2; say "ok""#);
        let seen = asked(&script, PATIENT, 0.0).await;
        let expected = Seen { reply: Ok("ok".to_owned()), requests: 3, waits: millis(&[500, 1_000]) };
        assert_eq!(seen, expected, "{status}");
    }
    let dropped = asked(r#"drop times 1; say "ok""#, PATIENT, 0.0).await;
    assert_eq!(dropped, Seen { reply: Ok("ok".to_owned()), requests: 2, waits: millis(&[500]) });
    let given_up = asked("status 503", PATIENT, 0.0).await;
    assert_eq!(given_up, Seen { reply: Err(Error::UNAVAILABLE), requests: 3, waits: millis(&[500, 1_000]) });
}

#[tokio::test]
async fn chance_takes_no_more_than_a_quarter_off_each_wait() {
    for (chance, waits) in [(1.0, [375, 750]), (0.5, [437, 875])] {
        let seen = asked(r#"status 500 times 2; say "ok""#, PATIENT, chance).await;
        let whole: Vec<u128> = seen.waits.iter().map(Duration::as_millis).collect();
        assert_eq!(whole, waits);
    }
}

#[tokio::test]
async fn a_connection_that_can_not_be_made_is_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let wait = Recorded::new(0.0);
    let reply = ask(base, ApiKey::new("key"), "echo", PATIENT, &wait).await;
    assert_eq!((reply, wait.waits()), (Err(Error::UNAVAILABLE), millis(&[500, 1_000])));
}

#[tokio::test]
async fn the_provider_says_how_long_to_wait() {
    for (header, millis_waited) in
        [("retry-after 7", 7_000), ("retry-after-ms 70", 70), ("retry-after 60", 60_000)]
    {
        let seen = asked(&format!(r#"status 429 {header} times 1; say "ok""#), PATIENT, 1.0).await;
        let expected = Seen { reply: Ok("ok".to_owned()), requests: 2, waits: millis(&[millis_waited]) };
        assert_eq!(seen, expected, "{header}");
    }
    let limited = Err(Error::RateLimited { retry_after: Some(Duration::from_secs(61)) });
    let seen = asked("status 429 retry-after 61", PATIENT, 0.0).await;
    assert_eq!(seen, Seen { reply: limited, requests: 1, waits: Vec::new() });
}

#[tokio::test]
async fn no_wait_is_begun_that_the_deadline_would_cut_off() {
    let seen = asked("status 429 retry-after 20", Duration::from_secs(35), 0.0).await;
    let limited = Err(Error::RateLimited { retry_after: Some(Duration::from_secs(20)) });
    assert_eq!(seen, Seen { reply: limited, requests: 2, waits: millis(&[20_000]) });
}

#[tokio::test]
async fn what_stands_and_what_began_is_asked_once() {
    let began = ["reset after 6 events", "cut after 6 events", "unended", "fail", "error"];
    let stands = ["status 400", "status 404", "status 422", "status 500 x-should-retry false"];
    for script in began.into_iter().chain(stands) {
        let seen = asked(&format!("say \"Half of it.\"; {script}"), PATIENT, 0.0).await;
        assert!(seen.reply.is_err(), "{script}");
        assert_eq!((seen.requests, seen.waits), (1, Vec::new()), "{script}");
    }
}

/// Gives keys in turn and records why it was asked.
struct Rotated<'a> {
    keys: [&'static str; 2],
    refused: &'a Mutex<Vec<Option<ApiKey>>>,
}

impl Keys for Rotated<'_> {
    async fn key(&self, refused: Option<&ApiKey>) -> Result<ApiKey, Error> {
        self.refused.lock().unwrap().push(refused.cloned());
        let [first, second] = self.keys;
        Ok(ApiKey::new(if refused.is_some() { second } else { first }))
    }
}

#[tokio::test]
async fn a_refused_key_is_fetched_anew_once_and_without_a_wait() {
    for (second, reply, requests) in [
        ("fresh", Ok("ok".to_owned()), 2),
        ("invalid-too", Err(Error::Unauthenticated), 2),
        ("invalid-first", Err(Error::Unauthenticated), 1),
    ] {
        let refused = Mutex::default();
        let keys = Rotated { keys: ["invalid-first", second], refused: &refused };
        let seen = asked_with(keys, r#"say "ok""#, PATIENT, 0.0).await;
        assert_eq!(seen, Seen { reply, requests, waits: Vec::new() }, "{second}");
        assert_eq!(*refused.lock().unwrap(), [None, Some(ApiKey::new("invalid-first"))]);
    }
}
