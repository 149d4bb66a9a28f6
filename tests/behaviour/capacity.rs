//! Read and write units of a turn, as the service counts them.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use local::call_proxy::{Call, Service, sequential};
use mock_model::Moment;
use serde_json::json;

use crate::support::{Answer, System, turn, turn_in, turn_path};

/// The operation that stands for writes of checkpoints.
const CHECKPOINT: &str = "Checkpoint";

/// Capacity units of the table.
pub struct Units {
    pub writes: f64,
    pub reads: f64,
    pub by_operation: BTreeMap<String, f64>,
}

impl Units {
    /// Returns the units that a metered system has consumed since the last time.
    pub fn take(system: &System) -> Self {
        Self::of(system.take_calls())
    }

    /// Does the same after a turn's finalization.
    pub async fn take_finalized(system: &System) -> Self {
        Self::of(finalized_calls(system).await)
    }

    fn of(calls: Vec<Call>) -> Self {
        let (mut reads, mut writes, mut by_operation) = (0.0, 0.0, BTreeMap::new());
        for call in calls.into_iter().filter(|call| call.service == Service::Table) {
            if call.is_read() {
                reads += call.units;
            } else {
                writes += call.units;
            }
            // The cost of a stream is separate from that of every turn.
            let is_checkpoint = call.sort_key.is_some_and(|key| key.starts_with("STREAM#"));
            let operation = if is_checkpoint { CHECKPOINT.to_owned() } else { call.operation };
            *by_operation.entry(operation).or_default() += call.units;
        }
        Self { writes, reads, by_operation }
    }
}

/// Takes the calls up to a turn's finalization, which the table shows a moment before its call is recorded.
async fn finalized_calls(system: &System) -> Vec<Call> {
    let (mut calls, give_up) = (Vec::new(), Instant::now() + Duration::from_secs(20));
    let is_finalization =
        |call: &Call| call.function == "turn-finalizer" && call.operation == "TransactWriteItems";
    while !calls.iter().any(is_finalization) {
        assert!(Instant::now() < give_up, "no finalization was recorded");
        tokio::time::sleep(Duration::from_millis(5)).await;
        calls.extend(system.take_calls());
    }
    calls
}

#[tokio::test]
async fn ordinary_turn_costs_at_most_28_write_and_6_read_units() {
    let system = System::metered().await;
    let ada = system.client("acme", "ada");

    let first = turn(&"A question of some length. ".repeat(20));
    let second = turn_in(first["SessionId"].as_str().unwrap(), &"Another question, as long. ".repeat(20));
    // The first one brings its user's place in the session. It reads the budgets of its org, as a process does every ten
    // seconds, and the org's settings and modes, as it does every minute. The finalizer reads the settings too, and the
    // org's webhooks with every turn.
    for (name, sent, most, of_org) in
        [("first turn of a session", &first, 28.0, 4.0), ("next turn", &second, 28.0, 0.0)]
    {
        Units::take(&system);
        let started = Instant::now();
        ada.execute(sent).await.result();
        // A turn that takes longer is looked at, once before the model call and then every second.
        let took = started.elapsed();
        let looks = if took < Duration::from_millis(250) { 0.0 } else { 1.0 + took.as_secs_f64().floor() };
        // Finalization is seen in the table itself, so that looking costs nothing here.
        let head = format!("TURN#{}", sent["TurnId"].as_str().unwrap());
        system.until_attribute(&head, "Status", "completed").await;
        let Units { writes, reads, by_operation } = Units::take_finalized(&system).await;
        println!("{name}: {writes} write units, {reads} read units {by_operation:?}");
        assert!((5.0..=most).contains(&writes), "{name}: {writes} write units");
        assert!((1.0..=6.0 + of_org + looks).contains(&reads), "{name}: {reads} read units");
    }
    let done = |answer: &Answer| answer.json()["Result"]["Status"]["Id"] == "completed";
    assert!(done(&ada.get(&turn_path(&second)).await));
}

/// The AWS calls of a turn: those that it waits for before the model is asked and after its last text, and all.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Waits {
    before: usize,
    after: usize,
    all: usize,
}

/// Counts the calls of the turn that a request starts, until it is finalized.
async fn waits(system: &System, request: impl Future<Output = Answer>) -> (Answer, Waits) {
    let model = system.cloud.model().unwrap();
    model.clear();
    system.take_calls();
    let answer = request.await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let mut calls = finalized_calls(system).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    calls.extend(system.take_calls());
    let moments = model.moments();
    let at =
        |expected: Moment| moments.iter().filter(move |(moment, _)| *moment == expected).map(|(_, at)| *at);
    let (asked, replied) = (at(Moment::Received).next().unwrap(), at(Moment::TextSent).next_back().unwrap());
    let execute = || calls.iter().filter(|call| call.function == "execute");
    let before = sequential(execute().filter(|call| call.finished <= asked));
    let after = sequential(execute().filter(|call| call.started >= replied));
    let waits = Waits { before, after, all: calls.len() };
    println!("{waits:?}");
    (answer, waits)
}

#[tokio::test]
async fn ordinary_turn_waits_for_two_aws_calls_before_and_after_the_model() {
    let system = System::metered().await;
    let ada = system.client("acme", "ada");
    let first = turn("A question");
    let mut fewest = None;
    // The first turns open connections and fill caches. A busy machine only adds calls, so the turn with the fewest counts.
    for sent in std::iter::once(first.clone())
        .chain((0..4).map(|_| turn_in(first["SessionId"].as_str().unwrap(), "Another question")))
    {
        let (_, waits) = waits(&system, ada.execute(&sent)).await;
        fewest = fewest.into_iter().chain([waits]).min();
        system.delay_calls(Duration::from_millis(30));
    }
    let Waits { before, after, all } = fewest.unwrap();
    assert_eq!((before, after), (2, 2));
    assert!((9..=10).contains(&all), "{all} calls");
}

#[tokio::test]
async fn later_turn_of_a_chat_waits_for_no_call_more() {
    let system = System::metered().await;
    let ada = system.client("acme", "ada");
    for (path, said) in
        [("/v1/chat/completions", "/choices/0/message/content"), ("/v1/messages", "/content/0/text")]
    {
        let mut messages = vec![json!({"role": "user", "content": format!("A question to {path}")})];
        let mut fewest = None;
        for turn in 0..5 {
            let body = json!({"model": "agent/default", "max_tokens": 4_096, "messages": messages});
            let (answer, waits) = waits(&system, ada.post(path, body.to_string())).await;
            if turn > 0 {
                fewest = fewest.into_iter().chain([waits]).min();
            }
            let said = answer.json().pointer(said).cloned().unwrap();
            messages.push(json!({"role": "assistant", "content": said}));
            messages.push(json!({"role": "user", "content": "Another question"}));
            system.delay_calls(Duration::from_millis(30));
        }
        let Waits { before, after, .. } = fewest.unwrap();
        assert_eq!((before, after), (2, 2), "{path}");
    }
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
    let system = System::metered().await;
    let ada = system.client("acme", "ada");
    for script in ["words 20", "pace 25ms; words 140"] {
        Units::take(&system);
        let sent = turn(&format!("Count [[script: {script}]]"));
        let started = Instant::now();
        let events = ada.execute_streaming(&sent, None).await.unwrap_or_else(|_| panic!("it is streamed"));
        events.rest().await;
        let seconds = started.elapsed().as_secs();
        let units = Units::take(&system).by_operation;
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
