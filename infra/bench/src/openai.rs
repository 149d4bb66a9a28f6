//! Turns over the OpenAI-compatible API compared with the same turns over our own.
//!
//! Both APIs alternate turn by turn on one local cloud, over one kept-alive client, so that a busy machine affects both
//! alike. Each turn is an ordinary one in a session of its own, and is finalized before the next one starts.

use std::fmt;
use std::time::Duration;

use crate::client::Client;
use crate::failure::Failure;
use crate::metric::{Metric, millis, percentile};
use crate::shape::Shape;
use crate::system::System;

/// The largest ratio to our own API that is aimed at.
const LATENCY_GOAL: f64 = 1.05;

/// The same kind of turn over both APIs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    openai: Shape,
    own: Shape,
}

/// Kinds of turns that are compared.
pub(crate) const PAIRS: [Pair; 2] = [
    Pair { openai: Shape::OpenAi, own: Shape::Buffered },
    Pair { openai: Shape::OpenAiStreamed, own: Shape::Streamed },
];

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = if self.own.is_streamed() { "streamed" } else { "buffered" };
        write!(f, "{shape} turns over the OpenAI-compatible API, baseline our own API")
    }
}

/// Runs turns over both APIs, one at a time. Returns the metrics of the OpenAI-compatible API, then those of our own.
pub(crate) async fn run(system: &System, pair: &Pair, turns: usize) -> Result<[Vec<Metric>; 2], Failure> {
    let client = &system.client;
    let (mut openai, mut own) = (Vec::with_capacity(turns), Vec::with_capacity(turns));
    for number in 0..turns {
        // Alternate which API goes first.
        if number.is_multiple_of(2) {
            openai.push(turn(client, pair.openai).await?);
            own.push(turn(client, pair.own).await?);
        } else {
            own.push(turn(client, pair.own).await?);
            openai.push(turn(client, pair.openai).await?);
        }
        system.clear_model_requests();
    }
    Ok(compare(&pair.to_string(), openai, own))
}

/// Runs and finalizes an ordinary turn. Returns its duration in milliseconds, without the finalization.
async fn turn(client: &Client, shape: Shape) -> Result<f64, Failure> {
    let session = client.session(shape).await?;
    let (turn, took) = client.turn(&session, shape, Duration::ZERO).await?;
    client.finalize(&session, &turn).await?;
    Ok(millis(took))
}

/// Returns the metrics of both APIs. The durations at one position are those of a pair of turns.
fn compare(group: &str, openai: Vec<f64>, own: Vec<f64>) -> [Vec<Metric>; 2] {
    let differences: Vec<f64> = openai.iter().zip(&own).map(|(openai, own)| openai - own).collect();
    let metric = |name: &str, mut values: Vec<f64>, percent| {
        values.sort_unstable_by(f64::total_cmp);
        Metric::new(group, &format!("{name}, p{percent}"), "ms", percentile(&values, percent))
    };
    let [mut openai, own] = [openai, own].map(|took| {
        let name = "added latency";
        vec![metric(name, took.clone(), 50).with_goal(LATENCY_GOAL), metric(name, took, 99)]
    });
    openai.push(metric("difference of a pair of turns", differences, 50));
    [openai, own]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_is_that_of_paired_turns() {
        let [openai, own] = compare("a pair", vec![9.0, 2.0, 4.0], vec![8.0, 1.5, 1.0]);
        let values = |metrics: &[Metric]| metrics.iter().map(|metric| metric.value).collect::<Vec<_>>();
        assert_eq!(values(&openai), [4.0, 4.0, 1.0]);
        assert_eq!(values(&own), [1.5, 1.5]);
        let goals: Vec<_> = openai.iter().map(|metric| metric.goal).collect();
        assert_eq!(goals, [Some(LATENCY_GOAL), None, None]);
    }
}
