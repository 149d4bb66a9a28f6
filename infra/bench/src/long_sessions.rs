//! Compares late turns of a long session with early turns of another. Both run alternately, so that a slower machine
//! affects both alike.

use std::time::Duration;

use crate::failure::Failure;
use crate::metric::{Metric, count, millis, percentile};
use crate::shape::Shape;
use crate::system::System;

const GROUP: &str = "late turns of a session compared with early ones";
/// Number of blocks, and turns per block before switching to the other session. Blocks are needed since CPU time has
/// a resolution of 10 ms.
const BLOCKS: usize = 10;
const TURNS_PER_BLOCK: usize = 10;

/// Durations and CPU time of the turns of one session.
struct SessionRun {
    name: &'static str,
    session: String,
    took: Vec<f64>,
    cpu: Duration,
}

impl SessionRun {
    fn new(name: &'static str, session: String) -> Self {
        Self { name, session, took: Vec::with_capacity(BLOCKS * TURNS_PER_BLOCK), cpu: Duration::ZERO }
    }

    async fn run_block(&mut self, system: &System) -> Result<(), Failure> {
        let before = system.cpu();
        for _ in 0..TURNS_PER_BLOCK {
            self.took.push(millis(system.client.next_turn(&self.session).await?));
        }
        self.cpu += system.cpu().saturating_sub(before);
        Ok(())
    }

    fn metrics(&self) -> [Metric; 2] {
        let mut took = self.took.clone();
        took.sort_unstable_by(f64::total_cmp);
        let metric = |what: &str, value| Metric::new(GROUP, &format!("{}: {what}", self.name), "ms", value);
        [
            metric("p50", percentile(&took, 50)),
            metric("CPU per turn, all functions", millis(self.cpu) / count(took.len().max(1))),
        ]
    }
}

/// Runs a hundred more turns in the session of 2,000 turns, and turns 2 to 101 of a new one.
pub(crate) async fn compare(system: &System, long: &str) -> Result<Vec<Metric>, Failure> {
    let mut early = SessionRun::new("turns 2 to 101", system.client.session(Shape::Buffered).await?);
    let mut late = SessionRun::new("turns 2,001 to 2,100", long.to_owned());
    for _ in 0..BLOCKS {
        early.run_block(system).await?;
        late.run_block(system).await?;
    }
    let (early_metrics, late_metrics) = (early.metrics(), late.metrics());
    let ratios = late_metrics.iter().zip(&early_metrics).map(|(late, early)| {
        Metric::new(
            GROUP,
            &format!("{} relative to turns 2 to 101", late.name),
            "×",
            late.value / early.value,
        )
    });
    let ratios: Vec<_> = ratios.collect();
    Ok(early_metrics.into_iter().chain(late_metrics).chain(ratios).collect())
}
