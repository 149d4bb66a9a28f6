//! Benchmarks of turns under load.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use contracts::request::limits::MAX_BODY_BYTES;
use futures::{StreamExt, TryStreamExt, stream};

use crate::failure::Failure;
use crate::metric::{Metric, count, mib, millis, percentile};
use crate::shape::Shape;
use crate::system::System;
use crate::usage::Usage;

/// Sessions created at once.
const SETUP_CONCURRENCY: usize = 16;
/// Time after which a turn's announcement has been delivered.
const ANNOUNCEMENT_DELAY: Duration = Duration::from_millis(1_500);

/// A load: concurrent clients, each in a session of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) shape: Shape,
    pub(crate) concurrency: usize,
    /// Latency of the model.
    pub(crate) model: Duration,
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = match self.shape {
            Shape::Buffered => "buffered",
            Shape::Streamed => "streamed",
            Shape::ToolRound => "tool-round",
        };
        write!(f, "{shape} turns, {} at once, model latency {} ms", self.concurrency, self.model.as_millis())
    }
}

/// Runs ordinary turns under a load, each in a session of its own.
pub(crate) async fn run(system: &System, load: &Load, turns: usize) -> Result<Vec<Metric>, Failure> {
    let client = &system.client;
    let open = stream::iter(0..turns).map(|_| client.session(load.shape));
    let sessions: Vec<String> = open.buffer_unordered(SETUP_CONCURRENCY).try_collect().await?;
    // The announcements of the first turns arrive a second later and must not be measured.
    tokio::time::sleep(ANNOUNCEMENT_DELAY).await;
    system.clear_model_requests();
    let before = system.usage();
    let started = Instant::now();
    let turns_run = sessions.iter().map(|session| async move {
        let (turn, took) = client.turn(session, load.shape, load.model).await?;
        Ok::<_, Failure>((session, turn, took))
    });
    let turns_run: Vec<_> = stream::iter(turns_run).buffer_unordered(load.concurrency).try_collect().await?;
    let wall = started.elapsed();
    for (session, turn, _) in &turns_run {
        client.wait_until_finalized(session, turn).await?;
    }
    let after = system.usage();
    system.clear_model_requests();
    let mut overhead: Vec<f64> =
        turns_run.iter().map(|(_, _, took)| millis(took.saturating_sub(load.model))).collect();
    overhead.sort_unstable_by(f64::total_cmp);
    let group = load.to_string();
    let mut metrics: Vec<Metric> = [50, 90, 99]
        .map(|percent| {
            Metric::new(&group, &format!("added latency, p{percent}"), "ms", percentile(&overhead, percent))
        })
        .into();
    metrics.push(Metric::new(&group, "turns per second", "", count(overhead.len()) / wall.as_secs_f64()));
    metrics.extend(cpu_metrics(&group, &before, &after, overhead.len()));
    metrics.extend(memory_metrics(&group, &after));
    Ok(metrics)
}

/// Measures the peak memory after a request with the largest body.
pub(crate) async fn largest_body(system: &System) -> Result<Vec<Metric>, Failure> {
    system.client.turn_with_file(MAX_BODY_BYTES - 4_096).await?;
    Ok(memory_metrics("after a turn with the largest body", &system.usage()))
}

/// Returns the CPU time per turn of each function and of all functions.
fn cpu_metrics(
    group: &str,
    before: &BTreeMap<String, Usage>,
    after: &BTreeMap<String, Usage>,
    turns: usize,
) -> Vec<Metric> {
    let mut all = 0.0;
    let mut metrics = Vec::new();
    for (function, usage) in after {
        let cpu = usage.cpu.saturating_sub(before.get(function).copied().unwrap_or_default().cpu);
        let per_turn = millis(cpu) / count(turns);
        all += per_turn;
        if !cpu.is_zero() {
            metrics.push(Metric::new(group, &format!("CPU per turn, {function}"), "ms", per_turn));
        }
    }
    if !metrics.is_empty() {
        metrics.push(Metric::new(group, "CPU per turn, all functions", "ms", all));
    }
    metrics
}

fn memory_metrics(group: &str, usage: &BTreeMap<String, Usage>) -> Vec<Metric> {
    usage
        .iter()
        .map(|(function, usage)| {
            Metric::new(group, &format!("peak memory, {function}"), "MiB", mib(usage.peak))
        })
        .collect()
}
