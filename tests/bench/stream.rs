//! Overhead of a streamed turn: prints how long a request takes to reach the model, how long a
//! delta takes from the model to the client, how long an answer of a thousand deltas takes, and what long answers
//! in small pieces cost.
//!
//! `scripts/bench-stream [TURNS]`: so many turns one after the other, 200 by default, each with short pauses
//! between its deltas. Model and client are in this process, so both read the same clock.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a measurement that can't go on has failed, and tells its terminal what it saw"
)]

mod long;

use std::time::{Duration, Instant};

use contracts::paths;
use futures::StreamExt;
use local::{Cloud, Options, token::Identity};
use mock_model::Moment;
use serde_json::json;

/// The pause before each of the model's deltas, of which a turn has eight.
const SCRIPT: &str = "pace 5ms; words 8";

#[tokio::main]
async fn main() {
    let turns: usize = std::env::var("TURNS").ok().and_then(|turns| turns.parse().ok()).unwrap_or(200);
    let options =
        Options { executable: Some(env!("CARGO_BIN_EXE_aptix").into()), sweep: None, ..Options::default() };
    let cloud = Cloud::start(options).await.expect("the local cloud starts");
    let client = Client {
        http: reqwest::Client::new(),
        url: format!("{}{}", cloud.url(), paths::EXECUTE),
        token: cloud.token(&Identity::user("acme", "ada")).unwrap(),
    };
    // The first turns start processes and fill caches.
    for _ in 0..5 {
        client.read(SCRIPT, true).await;
    }
    println!("{}", bench::machine());
    println!("{turns} turns, one after the other, the model says \"{SCRIPT}\"");
    let (mut to_model, mut first, mut every) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..turns {
        let model = cloud.model().unwrap();
        model.clear();
        let read = client.read(SCRIPT, true).await;
        let moments = model.moments();
        let asked = moments.iter().find(|(moment, _)| *moment == Moment::Received).unwrap().1;
        let said = moments.iter().filter(|(moment, _)| *moment == Moment::TextSent).map(|(_, at)| *at);
        let said: Vec<Instant> = said.collect();
        assert!(!read.deltas.is_empty(), "no delta arrived");
        to_model.push(asked - read.sent);
        first.push(read.deltas[0] - said[0]);
        // A reader that is late gets several at once; then nobody can say which is which.
        if read.deltas.len() == said.len() {
            every.extend(read.deltas.iter().zip(&said).map(|(observer, said)| *observer - *said));
        }
    }
    print("request sent → model asked", &mut to_model);
    print("model's first delta → client", &mut first);
    print("each of its deltas → client", &mut every);
    println!("{} of {turns} turns had no two deltas in one", every.len() / 8);
    let read = client.read("words 1000", true).await;
    println!("{} deltas without a pause: {:.1} ms in all", read.deltas.len(), millis(read.sent.elapsed()));
    long::measure(&cloud, &client).await;
    cloud.shutdown().await;
}

struct Client {
    http: reqwest::Client,
    url: String,
    token: String,
}

struct StreamTimes {
    sent: Instant,
    /// Arrival time of each delta.
    deltas: Vec<Instant>,
}

impl Client {
    /// Runs a turn and reads its answer to the end.
    async fn read(&self, script: &str, streaming: bool) -> StreamTimes {
        let id = || uuid::Uuid::new_v4().simple().to_string();
        let body = json!({"SessionId": id(), "TurnId": id(), "Streaming": streaming,
                          "Instruction": format!("Write [[script: {script}]]")});
        let request = self.http.post(&self.url).bearer_auth(&self.token);
        let request = request.header("content-type", "application/json").body(body.to_string());
        let sent = Instant::now();
        let mut pieces = request.send().await.unwrap().bytes_stream();
        let (mut deltas, mut text) = (Vec::new(), Vec::new());
        while let Some(piece) = pieces.next().await {
            let now = Instant::now();
            text.extend_from_slice(&piece.unwrap());
            let ends = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let lines: Vec<u8> = text.drain(..ends).collect();
            let observer = lines.split(|byte| *byte == b'\n').filter(|line| *line == b"event: delta").count();
            deltas.extend(std::iter::repeat_n(now, observer));
        }
        StreamTimes { sent, deltas }
    }
}

fn print(what: &str, took: &mut [Duration]) {
    took.sort_unstable();
    let at = |percent: usize| {
        took.get((took.len().max(1) - 1) * percent / 100).map_or(f64::NAN, |took| millis(*took))
    };
    println!("{what:30} p50 {:6.2} ms   p95 {:6.2} ms   max {:6.2} ms", at(50), at(95), at(100));
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}
