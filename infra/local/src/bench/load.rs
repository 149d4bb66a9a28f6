//! Turns under a load, and what they took.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use contracts::request::limits::MAX_BODY_BYTES;
use futures::{StreamExt, TryStreamExt, stream};

use super::Failure;
use super::figure::{Figure, percentile};
use super::system::System;
use super::used::Used;

/// How many sessions are opened at once.
const AT_ONCE: usize = 16;
/// After how long a turn's announcement has come.
const ANNOUNCED: Duration = Duration::from_millis(1_500);

/// What a turn is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Answered whole.
    Whole,
    /// Answered as a stream, read to its end.
    Streamed,
    /// With a round of a client's tool: two requests and two model calls.
    ToolRound,
}

/// Turns that are held by so many clients at once, each in a session of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) shape: Shape,
    pub(super) at_once: usize,
    /// How long the model takes.
    pub(super) model: Duration,
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = match self.shape {
            Shape::Whole => "whole",
            Shape::Streamed => "streamed",
            Shape::ToolRound => "with a tool round",
        };
        write!(f, "turns {shape}, {} at once, a model of {} ms", self.at_once, self.model.as_millis())
    }
}

/// Holds so many ordinary turns, each in a session of its own.
pub(super) async fn run(system: &System, load: &Load, turns: usize) -> Result<Vec<Figure>, Failure> {
    let client = &system.client;
    let open = stream::iter(0..turns).map(|_| client.session());
    let sessions: Vec<String> = open.buffer_unordered(AT_ONCE).try_collect().await?;
    // The announcements of the first turns come a second later, and are none of this.
    tokio::time::sleep(ANNOUNCED).await;
    system.forget();
    let before = system.used();
    let began = Instant::now();
    let held = sessions.iter().map(|session| async move {
        let (turn, took) = client.turn(session, load.shape, load.model).await?;
        Ok::<_, Failure>((session, turn, took))
    });
    let held: Vec<_> = stream::iter(held).buffer_unordered(load.at_once).try_collect().await?;
    let wall = began.elapsed();
    for (session, turn, _) in &held {
        client.until_finalized(session, turn).await?;
    }
    let after = system.used();
    system.forget();
    let mut added: Vec<f64> =
        held.iter().map(|(_, _, took)| millis(took.saturating_sub(load.model))).collect();
    added.sort_unstable_by(f64::total_cmp);
    let of = load.to_string();
    let mut figures: Vec<Figure> = [50, 90, 99]
        .map(|percent| {
            Figure::new(&of, &format!("added latency, p{percent}"), "ms", percentile(&added, percent))
        })
        .into();
    figures.push(Figure::new(&of, "turns a second", "", count(added.len()) / wall.as_secs_f64()));
    figures.extend(computed(&of, &before, &after, added.len()));
    figures.extend(peaks(&of, &after));
    Ok(figures)
}

/// What a body of the largest size leaves of memory.
pub(super) async fn largest(system: &System) -> Result<Vec<Figure>, Failure> {
    system.client.turn_with_file(MAX_BODY_BYTES - 4_096).await?;
    Ok(peaks("after a turn with the largest body", &system.used()))
}

/// CPU time of each function a turn, and of all.
fn computed(
    of: &str,
    before: &BTreeMap<String, Used>,
    after: &BTreeMap<String, Used>,
    turns: usize,
) -> Vec<Figure> {
    let mut all = 0.0;
    let mut figures = Vec::new();
    for (function, used) in after {
        let cpu = used.cpu.saturating_sub(before.get(function).copied().unwrap_or_default().cpu);
        let a_turn = millis(cpu) / count(turns);
        all += a_turn;
        if !cpu.is_zero() {
            figures.push(Figure::new(of, &format!("CPU a turn, {function}"), "ms", a_turn));
        }
    }
    if !figures.is_empty() {
        figures.push(Figure::new(of, "CPU a turn, all functions", "ms", all));
    }
    figures
}

fn peaks(of: &str, used: &BTreeMap<String, Used>) -> Vec<Figure> {
    let mib = |bytes: u64| count(usize::try_from(bytes >> 10).unwrap_or(usize::MAX)) / 1024.0;
    used.iter()
        .map(|(function, used)| Figure::new(of, &format!("peak memory, {function}"), "MiB", mib(used.peak)))
        .collect()
}

pub(super) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// A count as a number to reckon with: none here comes near to where a float would round.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(super) fn count(number: usize) -> f64 {
    number as f64
}
