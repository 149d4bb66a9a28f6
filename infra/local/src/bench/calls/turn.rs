//! The calls of one ordinary turn.

use std::time::{Duration, Instant};

use scripted_model::Moment;

use super::{Call, Notes, Service};
use crate::bench::{
    Failure,
    client::id,
    figure::Figure,
    load::{Shape, count},
    prices,
    system::System,
};

/// How long each call of the counted turn takes at least.
const HELD: Duration = Duration::from_millis(30);
/// Turns that are counted: the one with the fewest calls tells, since a busy machine only adds some.
const COUNTED: usize = 3;
/// Turns that are held before: connections are made, caches filled.
const BEFORE: usize = 3;

pub(super) async fn figures(system: &System, notes: &Notes) -> Result<Vec<Figure>, Failure> {
    let session = id();
    for _ in 0..BEFORE {
        let (turn, _) = system.client.turn(&session, Shape::Whole, Duration::ZERO).await?;
        system.client.until_finalized(&session, &turn).await?;
    }
    notes.hold(HELD);
    let mut fewest: Option<Counted> = None;
    for _ in 0..COUNTED {
        let counted = Counted::turn(system, notes, &session).await?;
        if fewest.as_ref().is_none_or(|fewest| counted.cost() < fewest.cost()) {
            fewest = Some(counted);
        }
    }
    let counted = fewest.filter(|counted| !counted.calls.is_empty()).ok_or("no call was noted")?;
    let (before, after) = counted.sequential();
    let Counted { calls, took, .. } = counted;
    let of = "an ordinary turn's calls of AWS";
    let mut figures = Vec::new();
    let mut add = |name: &str, value: f64| figures.push(Figure::new(of, name, "", value));
    add("one after the other before the model", count(before));
    add("one after the other after the model", count(after));
    for function in ["execute", "turn-finalizer"] {
        let of_function = calls.iter().filter(|call| call.function == function);
        let mut operations: Vec<&str> = of_function.map(|call| call.operation.as_str()).collect();
        operations.sort_unstable();
        for same in operations.chunk_by(|one, other| one == other) {
            add(&format!("{function}: {}", same.first().unwrap_or(&"")), count(same.len()));
        }
    }
    add("in all", count(calls.len()));
    let units =
        |reads: bool| calls.iter().filter(|call| call.reads() == reads).map(|call| call.units).sum::<f64>();
    let (writes, reads) = (units(false), units(true));
    add("write units", writes);
    add("read units", reads);
    let of_service = |service: Service, reads: bool| {
        count(calls.iter().filter(|call| call.service == service && call.reads() == reads).count())
    };
    let asked = prices::Asked {
        write_units: writes,
        read_units: reads,
        objects_written: of_service(Service::Bucket, false),
        objects_read: of_service(Service::Bucket, true),
        messages: of_service(Service::Queue, false),
        added: took,
    };
    figures.extend(prices::a_million(&asked)?);
    Ok(figures)
}

/// The calls of one turn.
struct Counted {
    calls: Vec<Call>,
    /// When the model was asked, and when it had said everything.
    model: (Instant, Instant),
    took: Duration,
}

impl Counted {
    async fn turn(system: &System, notes: &Notes, session: &str) -> Result<Self, Failure> {
        system.forget();
        notes.take();
        let (turn, took) = system.client.turn(session, Shape::Whole, Duration::ZERO).await?;
        system.client.until_finalized(session, &turn).await?;
        // The last call is noted once its answer was passed on, a moment after the table shows what it did.
        tokio::time::sleep(HELD).await;
        let moments = system.cloud.model().map(|model| model.moments()).unwrap_or_default();
        let at =
            |wanted: Moment| moments.iter().filter(move |(moment, _)| *moment == wanted).map(|(_, at)| *at);
        let model = at(Moment::Asked).next().zip(at(Moment::Said).next_back());
        Ok(Self { calls: notes.take(), model: model.ok_or("the model was not asked")?, took })
    }

    /// How many of the calls of `execute` came one after the other, before the model and after it.
    fn sequential(&self) -> (usize, usize) {
        let (asked, said) = self.model;
        let execute = || self.calls.iter().filter(|call| call.function == "execute");
        let before: Vec<&Call> = execute().filter(|call| call.ended <= asked).collect();
        let after: Vec<&Call> = execute().filter(|call| call.began >= said).collect();
        (sequential(&before), sequential(&after))
    }

    fn cost(&self) -> usize {
        let (before, after) = self.sequential();
        self.calls.len() + before + after
    }
}

/// How many of the calls came one after the other: the most of them of which none overlaps another.
fn sequential(calls: &[&Call]) -> usize {
    let mut spans: Vec<(Instant, Instant)> = calls.iter().map(|call| (call.ended, call.began)).collect();
    spans.sort_unstable();
    let mut last: Option<Instant> = None;
    let mut sequential = 0;
    for (ended, began) in spans {
        if last.is_none_or(|last| began >= last) {
            (last, sequential) = (Some(ended), sequential + 1);
        }
    }
    sequential
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_overlap_count_once() {
        let start = Instant::now();
        let call = |from: u64, to: u64| Call {
            function: "execute".to_owned(),
            service: Service::Table,
            operation: "GetItem".to_owned(),
            began: start + Duration::from_millis(from),
            ended: start + Duration::from_millis(to),
            units: 0.5,
        };
        let calls = [call(0, 5), call(1, 3), call(2, 9), call(6, 8), call(9, 10)];
        assert_eq!(sequential(&calls.iter().collect::<Vec<_>>()), 3, "1 to 3, 6 to 8, 9 to 10");
        assert_eq!(sequential(&[]), 0);
    }
}
