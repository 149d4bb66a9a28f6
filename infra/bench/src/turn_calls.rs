//! AWS calls of one ordinary turn, counted on the wire by a proxy between the functions and their services.

use std::path::Path;
use std::time::{Duration, Instant};

use local::call_proxy::{Call, CallProxy, Service, sequential};
use mock_model::Moment;

use crate::client::id;
use crate::failure::Failure;
use crate::metric::{Metric, count};
use crate::prices;
use crate::shape::Shape;
use crate::system::System;

/// Delay of each call of a counted turn.
const CALL_DELAY: Duration = Duration::from_millis(30);
/// Turns that are counted. The one with the fewest calls is reported, since a busy machine only adds calls.
const COUNTED_TURNS: usize = 3;
/// Warm-up turns, which open connections and fill caches.
const WARM_UP_TURNS: usize = 3;

/// Measures the AWS calls of an ordinary turn, and the cost of a million of them.
pub(crate) async fn measure(program: &Path, number: usize) -> Result<Vec<Metric>, Failure> {
    let (system, proxy) = System::start_recorded(program, number).await?;
    let metrics = metrics(&system, &proxy).await;
    system.shutdown().await;
    metrics
}

async fn metrics(system: &System, proxy: &CallProxy) -> Result<Vec<Metric>, Failure> {
    let session = id();
    for _ in 0..WARM_UP_TURNS {
        let (turn, _) = system.client.turn(&session, Shape::Buffered, Duration::ZERO).await?;
        system.client.wait_until_finalized(&session, &turn).await?;
    }
    proxy.delay_calls(CALL_DELAY);
    let mut fewest: Option<CountedTurn> = None;
    for _ in 0..COUNTED_TURNS {
        let counted = CountedTurn::turn(system, proxy, &session).await?;
        if fewest.as_ref().is_none_or(|fewest| counted.cost() < fewest.cost()) {
            fewest = Some(counted);
        }
    }
    let counted = fewest.filter(|counted| !counted.calls.is_empty()).ok_or("no call was recorded")?;
    let (before, after) = counted.sequential();
    let CountedTurn { calls, took, model_bytes, .. } = counted;
    let group = "AWS calls of an ordinary turn";
    let mut metrics = Vec::new();
    let mut add = |name: &str, value: f64| metrics.push(Metric::new(group, name, "", value));
    add("sequential calls before the model", count(before));
    add("sequential calls after the model", count(after));
    for function in ["execute", "turn-finalizer"] {
        let of_function = calls.iter().filter(|call| call.function == function);
        let mut operations: Vec<&str> = of_function.map(|call| call.operation.as_str()).collect();
        operations.sort_unstable();
        for same in operations.chunk_by(|one, other| one == other) {
            add(&format!("{function}: {}", same.first().unwrap_or(&"")), count(same.len()));
        }
    }
    add("total", count(calls.len()));
    for function in ["execute", "turn-finalizer"] {
        let of_function = calls.iter().filter(|call| call.function == function);
        add(&format!("{function}: bytes of all requests"), count(of_function.map(|call| call.bytes).sum()));
    }
    add("bytes of the request to the model", count(model_bytes));
    let units =
        |reads: bool| calls.iter().filter(|call| call.is_read() == reads).map(|call| call.units).sum::<f64>();
    let (writes, reads) = (units(false), units(true));
    add("write units", writes);
    add("read units", reads);
    let of_service = |service: Service, reads: bool| {
        count(calls.iter().filter(|call| call.service == service && call.is_read() == reads).count())
    };
    let usage = prices::TurnUsage {
        write_units: writes,
        read_units: reads,
        objects_written: of_service(Service::Bucket, false),
        objects_read: of_service(Service::Bucket, true),
        messages: of_service(Service::Queue, false),
        overhead: took,
    };
    metrics.extend(prices::per_million(&usage)?);
    Ok(metrics)
}

/// The calls of one turn.
struct CountedTurn {
    calls: Vec<Call>,
    /// Times at which the model was called and at which its response was complete.
    model: (Instant, Instant),
    /// Length of the request to the model.
    model_bytes: usize,
    took: Duration,
}

impl CountedTurn {
    async fn turn(system: &System, proxy: &CallProxy, session: &str) -> Result<Self, Failure> {
        system.clear_model_requests();
        proxy.take();
        let (turn, took) = system.client.turn(session, Shape::Buffered, Duration::ZERO).await?;
        system.client.wait_until_finalized(session, &turn).await?;
        // The last call is recorded after its response is forwarded, slightly later than its effect shows in the
        // table.
        tokio::time::sleep(CALL_DELAY).await;
        let model = system.cloud.model();
        let moments = model.map(|model| model.moments()).unwrap_or_default();
        let model_bytes =
            model.map(|model| model.texts().iter().map(String::len).sum::<usize>()).unwrap_or_default();
        let at = |expected: Moment| {
            moments.iter().filter(move |(moment, _)| *moment == expected).map(|(_, at)| *at)
        };
        let model = at(Moment::Received).next().zip(at(Moment::TextSent).next_back());
        Ok(Self { calls: proxy.take(), model: model.ok_or("the model was not called")?, model_bytes, took })
    }

    /// Returns the numbers of sequential calls of `execute` before and after the model call.
    fn sequential(&self) -> (usize, usize) {
        let (requested, replied) = self.model;
        let execute = || self.calls.iter().filter(|call| call.function == "execute");
        let before = sequential(execute().filter(|call| call.finished <= requested));
        (before, sequential(execute().filter(|call| call.started >= replied)))
    }

    fn cost(&self) -> usize {
        let (before, after) = self.sequential();
        self.calls.len() + before + after
    }
}
