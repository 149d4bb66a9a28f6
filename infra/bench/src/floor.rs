//! A turn compared with its floor: a program that makes the same calls and nothing else.
//!
//! Both programs run under the same local cloud, client and mock model, in alternation. The CPU of a turn is that of
//! `execute` and `turn-finalizer` together, in both.

use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::load::{self, Load};
use crate::metric::{Metric, millis, percentile};
use crate::shape::Shape;
use crate::system::System;

/// Loads under which the programs are compared.
pub(crate) const LOADS: [Load; 4] = [
    Load { shape: Shape::Buffered, concurrency: 1, model: Duration::ZERO },
    Load { shape: Shape::Streamed, concurrency: 1, model: Duration::ZERO },
    Load { shape: Shape::Buffered, concurrency: 16, model: Duration::ZERO },
    Load { shape: Shape::Streamed, concurrency: 16, model: Duration::ZERO },
];

/// The largest ratios to the floor that are aimed at.
const CPU_GOAL: f64 = 1.5;
const LATENCY_GOAL: f64 = 1.2;

/// Measures a load. Of a single client, also the latency without the time that the model and the client take alone.
pub(crate) async fn run(system: &System, load: &Load, turns: usize) -> Result<Vec<Metric>, Failure> {
    let model = match load.concurrency {
        1 => Some(model_alone(system, turns).await?),
        _ => None,
    };
    let mut metrics = Vec::new();
    for metric in load::run(system, load, turns).await? {
        match metric.name.as_str() {
            "added latency, p50" => {
                let name = "latency without the model's own, p50";
                let without_model =
                    model.map(|model| Metric::new(&metric.group, name, "ms", metric.value - model));
                metrics.push(metric.with_goal(LATENCY_GOAL));
                metrics.extend(without_model);
            }
            "CPU per turn, all functions" => metrics.push(metric.with_goal(CPU_GOAL)),
            _ => metrics.push(metric),
        }
    }
    Ok(metrics)
}

/// Returns the median time of the model's answer for the same client, in milliseconds.
async fn model_alone(system: &System, calls: usize) -> Result<f64, Failure> {
    let mut took = Vec::with_capacity(calls);
    for _ in 0..calls {
        let sent = Instant::now();
        system.client.ask_model(&system.cloud.endpoints().model).await?;
        took.push(millis(sent.elapsed()));
    }
    system.clear_model_requests();
    took.sort_unstable_by(f64::total_cmp);
    Ok(percentile(&took, 50))
}
