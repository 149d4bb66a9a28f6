//! Turns late in a session beside turns early in another, by turns: a machine that gets slower gets so for both.

use std::time::Duration;

use super::Failure;
use super::figure::{Figure, percentile};
use super::load::{count, millis};
use super::system::System;

const OF: &str = "a turn late in a session beside one early in another";
/// Blocks of turns, and how many turns are held before the other session has its turn: CPU is told in ticks of 10 ms.
const BLOCKS: usize = 10;
const BLOCK: usize = 10;

/// What the turns of one of the two sessions took.
struct Stretch {
    name: &'static str,
    session: String,
    took: Vec<f64>,
    cpu: Duration,
}

impl Stretch {
    fn of(name: &'static str, session: String) -> Self {
        Self { name, session, took: Vec::with_capacity(BLOCKS * BLOCK), cpu: Duration::ZERO }
    }

    async fn hold(&mut self, system: &System) -> Result<(), Failure> {
        let before = system.cpu();
        for _ in 0..BLOCK {
            self.took.push(millis(system.client.next(&self.session).await?));
        }
        self.cpu += system.cpu().saturating_sub(before);
        Ok(())
    }

    fn figures(&self) -> [Figure; 2] {
        let mut took = self.took.clone();
        took.sort_unstable_by(f64::total_cmp);
        let figure = |what: &str, value| Figure::new(OF, &format!("{}: {what}", self.name), "ms", value);
        [
            figure("p50", percentile(&took, 50)),
            figure("CPU a turn, all functions", millis(self.cpu) / count(took.len().max(1))),
        ]
    }
}

/// Holds a hundred turns more in the session of 2,000, and the second to the hundred and first of a new one.
pub(super) async fn compare(system: &System, long: &str) -> Result<Vec<Figure>, Failure> {
    let mut early = Stretch::of("turns 2 to 101", system.client.session().await?);
    let mut late = Stretch::of("turns 2,001 to 2,100", long.to_owned());
    for _ in 0..BLOCKS {
        early.hold(system).await?;
        late.hold(system).await?;
    }
    let (of_early, of_late) = (early.figures(), late.figures());
    let ratios = of_late.iter().zip(&of_early).map(|(late, early)| {
        Figure::new(OF, &format!("{} to that of turns 2 to 101", late.name), "×", late.value / early.value)
    });
    let ratios: Vec<_> = ratios.collect();
    Ok(of_early.into_iter().chain(of_late).chain(ratios).collect())
}
