//! One seed, one run: clients, executors, finalizers, a sweep timer and bad luck, then calm, then the
//! invariants.

mod conversation;
mod counts;
mod drive;
mod plan;
mod recover;

pub use counts::Counts;

use crate::{
    deployment::{Deployment, Settings},
    invariants::{Violation, violation},
    planted::Bug,
    schedule::Pace,
};

/// What a seed came to.
#[derive(Debug)]
pub struct Run {
    pub seed: u64,
    pub violations: Vec<Violation>,
    pub counts: Counts,
    /// Tells runs apart: the same seed gives the same.
    pub trace_hash: u64,
    /// The trace, if it was asked for.
    pub lines: Vec<String>,
}

/// Runs a seed, with at most one planted bug.
#[must_use]
pub fn run(seed: u64, bug: Option<Bug>, verbose: bool) -> Run {
    let plan = plan::draw(seed);
    let deployment = Deployment::new(Settings {
        seed,
        pace: Pace::Drawn,
        verbose,
        timing: plan.timing,
        script: plan.script,
        temper: plan.temper,
        bug,
    });
    let mut driver = drive::Driver::new(deployment, plan);
    driver.storm();
    let mut violations = recover::recover(&mut driver);
    let deployment = &driver.deployment;
    violations.extend(deployment.violations());
    let endless = |client: &usize| format!("client {client} is told to send again without end");
    violations.extend(driver.endless.iter().map(|client| violation("I12", endless(client))));
    violations.sort();
    violations.dedup();
    let clock = deployment.schedule.clock();
    Run {
        seed,
        violations,
        counts: counts::count(&driver),
        trace_hash: clock.trace_hash(),
        lines: clock.trace_lines(),
    }
}
