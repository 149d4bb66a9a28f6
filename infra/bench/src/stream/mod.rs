//! Overhead of a streamed turn: the time of a request to the model, of a delta from the model to the client, of an answer
//! with a thousand deltas, and the CPU time of long answers in small deltas.
//!
//! Model and client are in this process, so both read the same clock.

#![allow(clippy::print_stdout, reason = "the lines are the result")]

mod long;

use std::path::Path;
use std::time::{Duration, Instant};

use contracts::paths;
use futures::StreamExt;
use local::{Cloud, Options, token::Identity};
use mock_model::Moment;
use serde_json::json;

use crate::failure::Failure;

/// The pause before each of the model's deltas, of which a turn has eight.
const SCRIPT: &str = "pace 5ms; words 8";

/// Runs this many turns of a program one after the other, then long answers, and prints a line for each figure.
///
/// # Errors
/// Fails if the cloud does not start, or if a turn fails.
pub async fn measure(program: &Path, turns: usize) -> Result<(), Failure> {
    let options = Options { executable: Some(program.to_owned()), sweep: None, ..Options::default() };
    let cloud = Cloud::start(options).await?;
    let client = Client {
        http: reqwest::Client::new(),
        url: format!("{}{}", cloud.url(), paths::EXECUTE),
        token: cloud.token(&Identity::user("acme", "ada"))?,
    };
    // The first turns start processes and fill caches.
    for _ in 0..5 {
        client.read(SCRIPT, true).await?;
    }
    println!("{turns} turns, one after the other, the model says \"{SCRIPT}\"");
    let (mut to_model, mut first, mut every) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..turns {
        let model = cloud.model().ok_or("the cloud has no mock model")?;
        model.clear();
        let read = client.read(SCRIPT, true).await?;
        let moments = model.moments();
        let asked = moments.iter().find(|(moment, _)| *moment == Moment::Received);
        let said = moments.iter().filter(|(moment, _)| *moment == Moment::TextSent).map(|(_, at)| *at);
        let said: Vec<Instant> = said.collect();
        let (Some((_, asked)), Some(first_said), Some(first_read)) =
            (asked, said.first(), read.deltas.first())
        else {
            return Err("no delta arrived".into());
        };
        to_model.push(*asked - read.sent);
        first.push(*first_read - *first_said);
        // A reader that is late gets several at once; then nobody can say which is which.
        if read.deltas.len() == said.len() {
            every.extend(read.deltas.iter().zip(&said).map(|(observer, said)| *observer - *said));
        }
    }
    print("request sent → model asked", &mut to_model);
    print("model's first delta → client", &mut first);
    print("each of its deltas → client", &mut every);
    println!("{} of {turns} turns had no two deltas in one", every.len() / 8);
    let read = client.read("words 1000", true).await?;
    println!("{} deltas without a pause: {:.1} ms in all", read.deltas.len(), millis(read.sent.elapsed()));
    long::measure(&cloud, &client).await?;
    cloud.shutdown().await;
    Ok(())
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
    async fn read(&self, script: &str, streaming: bool) -> Result<StreamTimes, Failure> {
        let id = || uuid::Uuid::new_v4().simple().to_string();
        let body = json!({"SessionId": id(), "TurnId": id(), "Streaming": streaming,
                          "Instruction": format!("Write [[script: {script}]]")});
        let request = self.http.post(&self.url).bearer_auth(&self.token);
        let request = request.header("content-type", "application/json").body(body.to_string());
        let sent = Instant::now();
        let mut pieces = request.send().await?.bytes_stream();
        let (mut deltas, mut text) = (Vec::new(), Vec::new());
        while let Some(piece) = pieces.next().await {
            let now = Instant::now();
            text.extend_from_slice(&piece?);
            let ends = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let lines: Vec<u8> = text.drain(..ends).collect();
            let observer = lines.split(|byte| *byte == b'\n').filter(|line| *line == b"event: delta").count();
            deltas.extend(std::iter::repeat_n(now, observer));
        }
        Ok(StreamTimes { sent, deltas })
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
