//! The time from a request's arrival at `execute` until the model has the turn's request. It is our part of the time to the
//! first token.
//!
//! The local cloud knows when it delivered the invocation, and the mock model when it received the request. Both are in
//! this process and use one clock. Once with all of a core, and once with the share of a core that Lambda gives to 256 MB.

use std::path::Path;
use std::time::{Duration, Instant};

use local::call_proxy::Call;
use local::{Function, Options};
use mock_model::Moment;

use crate::client::id;
use crate::cpu_quota::CpuQuota;
use crate::failure::Failure;
use crate::metric::{Metric, millis, percentile};
use crate::shape::Shape;
use crate::system::System;

/// Share of a core of a function with 256 MB. Lambda gives a whole one to 1,769 MB.
const SHARE_OF_256_MB: f64 = 256.0 / 1_769.0;
/// Turns before the waterfall, which open connections and fill caches.
const WARM_UP_TURNS: usize = 3;

/// Steps of the waterfall, in order.
const STEPS: [&str; 5] = [
    "until the first AWS call",
    "read of session and turn",
    "until the transaction",
    "transaction of the start",
    "until the model has the request",
];

/// Measures the first turn of a process and the turns after it. Reports a part that this machine can't measure.
pub(crate) async fn measure(
    program: &Path,
    number: usize,
    turns: usize,
    report: &impl Fn(&str),
) -> Result<Vec<Metric>, Failure> {
    let mut metrics = with_share(program, number, turns, None, report).await?;
    metrics.extend(with_share(program, number, turns, Some(SHARE_OF_256_MB), report).await?);
    metrics.extend(waterfall(program, number, turns).await?);
    Ok(metrics)
}

/// Measures with this share of a core, or with all of it. Returns nothing if the share can't be limited.
async fn with_share(
    program: &Path,
    number: usize,
    turns: usize,
    share: Option<f64>,
    report: &impl Fn(&str),
) -> Result<Vec<Metric>, Failure> {
    // A single process, so that every turn is under the quota.
    let options = Options { concurrency: 1, ..Options::default() };
    let system = System::with_options(program, number, options).await?;
    system.cloud.check_functions().await?;
    let quota = share.map(|share| limit(&system, share)).transpose();
    let metrics = match &quota {
        Err(reason) => {
            report(&format!("skipped: first token with the CPU of 256 MB: {reason}"));
            Ok(Vec::new())
        }
        Ok(quota) => {
            let cpu = if quota.is_some() { "the CPU of 256 MB" } else { "a whole core" };
            measure_turns(&system, turns, &format!("request to model call, with {cpu}")).await
        }
    };
    system.shutdown().await;
    // After the processes have exited.
    drop(quota);
    metrics
}

/// Puts the process of `execute` under a quota. The other functions have a share of their own on Lambda.
fn limit(system: &System, share: f64) -> Result<CpuQuota, String> {
    let quota = CpuQuota::create(share)?;
    for process in system.processes().iter().filter(|process| process.function == Function::Execute.name()) {
        quota.add(process.id)?;
    }
    Ok(quota)
}

async fn measure_turns(system: &System, turns: usize, group: &str) -> Result<Vec<Metric>, Failure> {
    let session = id();
    let first = ModelCall::of_turn(system, &session).await?.wait();
    let mut warm = Vec::with_capacity(turns);
    for _ in 0..turns {
        warm.push(ModelCall::of_turn(system, &session).await?.wait());
    }
    warm.sort_unstable_by(f64::total_cmp);
    let metric = |name: &str, value| Metric::new(group, name, "ms", value);
    Ok(vec![
        metric("first turn of the process", first),
        metric("later turns, p50", percentile(&warm, 50)),
        metric("later turns, p99", percentile(&warm, 99)),
    ])
}

/// Measures the steps before the model call, with a proxy that records AWS calls and adds its own time to each.
async fn waterfall(program: &Path, number: usize, turns: usize) -> Result<Vec<Metric>, Failure> {
    let (system, proxy) = System::start_recorded(program, number).await?;
    let steps = async {
        let session = id();
        for _ in 0..WARM_UP_TURNS {
            ModelCall::of_turn(&system, &session).await?;
        }
        let mut steps: [Vec<f64>; 5] = Default::default();
        for _ in 0..turns {
            proxy.take();
            let model_call = ModelCall::of_turn(&system, &session).await?;
            // A turn that was looked at has other calls, too. It is left out.
            for (values, value) in steps.iter_mut().zip(model_call.steps(&proxy.take()).into_iter().flatten())
            {
                values.push(value);
            }
        }
        Ok::<_, Failure>(steps)
    };
    let steps = steps.await;
    system.shutdown().await;
    let metrics = STEPS.iter().zip(steps?).map(|(name, mut values)| {
        values.sort_unstable_by(f64::total_cmp);
        Metric::new("waterfall before the model call, medians", name, "ms", percentile(&values, 50))
    });
    Ok(metrics.collect())
}

/// The model call of a turn.
struct ModelCall {
    /// Time at which the function received the turn's request.
    delivered: Instant,
    /// Time at which the model received its request.
    received: Instant,
}

impl ModelCall {
    /// Runs and finalizes the next turn of a session.
    async fn of_turn(system: &System, session: &str) -> Result<Self, Failure> {
        system.clear_model_requests();
        let (turn, _) = system.client.turn(session, Shape::Streamed, Duration::ZERO).await?;
        let delivered = system.cloud.last_delivery(Function::Execute);
        let moments = system.cloud.model().map(|model| model.moments()).unwrap_or_default();
        let received = moments.iter().find(|(moment, _)| *moment == Moment::Received).map(|(_, at)| *at);
        system.client.finalize(session, &turn).await?;
        let (delivered, received) = delivered.zip(received).ok_or("the model was not called")?;
        Ok(Self { delivered, received })
    }

    /// Returns the time until the model had its request, in milliseconds.
    fn wait(&self) -> f64 {
        between(self.delivered, self.received)
    }

    /// Returns the times of [`STEPS`] in milliseconds. `None` if the turn made other calls than an ordinary one.
    fn steps(&self, calls: &[Call]) -> Option<[f64; 5]> {
        let is_before = |call: &&Call| call.function == "execute" && call.finished <= self.received;
        let before: Vec<&Call> = calls.iter().filter(is_before).collect();
        let find = |operation: &str| before.iter().find(|call| call.operation == operation);
        let (read, transaction) = (find("BatchGetItem")?, find("TransactWriteItems")?);
        if before.len() != 2 {
            return None;
        }
        Some([
            between(self.delivered, read.started),
            between(read.started, read.finished),
            between(read.finished, transaction.started),
            between(transaction.started, transaction.finished),
            between(transaction.finished, self.received),
        ])
    }
}

/// Returns the milliseconds from one time to a later one.
fn between(from: Instant, to: Instant) -> f64 {
    millis(to.saturating_duration_since(from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use local::call_proxy::Service;

    #[test]
    fn steps_are_those_of_an_ordinary_start() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let call = |operation: &str, from, to| Call {
            function: "execute".to_owned(),
            service: Service::Table,
            operation: operation.to_owned(),
            sort_key: None,
            bytes: 0,
            started: at(from),
            finished: at(to),
            units: 0.0,
        };
        let model_call = ModelCall { delivered: at(0), received: at(20) };
        let mut calls =
            vec![call("BatchGetItem", 1, 4), call("TransactWriteItems", 8, 15), call("PUT", 30, 34)];
        assert_eq!(model_call.steps(&calls), Some([1.0, 3.0, 4.0, 7.0, 5.0]));
        calls.insert(0, call("GetItem", 16, 18));
        assert_eq!(model_call.steps(&calls), None, "it was looked at");
    }
}
