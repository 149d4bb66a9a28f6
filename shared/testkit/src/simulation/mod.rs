//! Simulation of one seed: clients, executors, finalizers, a sweep timer and faults. Then faults stop and the
//! invariants are checked.

mod conversation;
mod counts;
mod drive;
mod import_state;
mod imports;
mod plan;
mod recover;

pub use counts::Counts;

use crate::{
    build,
    deployment::{Deployment, Settings},
    invariants::{Violation, violation},
    planted_bugs::Bug,
    schedule::Latency,
};

/// The result of a seed.
#[derive(Debug)]
pub struct Run {
    pub seed: u64,
    pub violations: Vec<Violation>,
    pub counts: Counts,
    /// Identifies a run: the same seed gives the same hash.
    pub trace_hash: u64,
    /// The trace, if requested.
    pub lines: Vec<String>,
}

/// Runs a seed, with at most one planted bug.
#[must_use]
pub fn run(seed: u64, bug: Option<Bug>, verbose: bool) -> Run {
    run_plan(plan::draw(seed), seed, bug, verbose)
}

/// Runs a seed whose turns all call tools with effects, with at most one planted bug. Few seeds of [`run`] have a takeover
/// between the effect of a call and its result.
#[must_use]
pub fn run_effects(seed: u64, bug: Option<Bug>, verbose: bool) -> Run {
    run_plan(plan::draw_effects(seed), seed, bug, verbose)
}

fn run_plan(plan: plan::Plan, seed: u64, bug: Option<Bug>, verbose: bool) -> Run {
    let deployment = Deployment::new(Settings {
        seed,
        latency: Latency::Random,
        verbose,
        timing: plan.timing,
        script: plan.script,
        queue_faults: plan.queue_faults,
        bug,
    });
    deployment.table.put_budgets(&build::org(), &build::org_budgets());
    let mut driver = drive::Driver::new(deployment, plan);
    driver.run_with_faults();
    let mut violations = recover::recover(&mut driver);
    let deployment = &driver.deployment;
    violations.extend(deployment.violations());
    let endless = |client: &usize| format!("client {client} is told to send again without end");
    violations.extend(driver.endless.iter().map(|client| violation("I12", endless(client))));
    let purged = |_| violation("I16", "an import was told of a purge that there is not");
    violations.extend((0..driver.imports.false_refusals).map(purged));
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
