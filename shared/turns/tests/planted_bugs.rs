//! Tests the checks: the simulation's general invariants catch every planted bug.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use testkit::{
    planted_bugs::Bug,
    simulation::{Run, run, run_effects},
};

/// The seeds to try for a bug. They begin where the rarest one is found soon.
const SEEDS: Range<u64> = 1_000..31_000;

/// Returns the first seed that exposes the bug, and the invariants that it violates.
fn caught(bug: Bug) -> Option<(u64, Vec<&'static str>)> {
    let run = if bug.is_of_effects() { run_effects } else { run };
    let next = AtomicU64::new(SEEDS.start);
    let first = AtomicU64::new(u64::MAX);
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= SEEDS.end.min(first.load(Ordering::Relaxed)) {
                return;
            }
            // A seed counts only if it is clean without the bug.
            if !run(seed, Some(bug), false).violations.is_empty()
                && run(seed, None, false).violations.is_empty()
            {
                first.fetch_min(seed, Ordering::Relaxed);
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));
    let seed = first.into_inner();
    (seed < SEEDS.end).then(|| {
        let Run { violations, .. } = run(seed, Some(bug), false);
        let mut names: Vec<_> = violations.iter().map(|violation| violation.invariant).collect();
        names.dedup();
        (seed, names)
    })
}

#[test]
fn invariants_catch_every_planted_bug() {
    let mut hidden = Vec::new();
    for bug in Bug::ALL {
        match caught(bug) {
            Some((seed, by)) => println!("{bug:?} is caught by {} with seed {seed}", by.join(", ")),
            None => hidden.push(bug),
        }
    }
    assert_eq!(hidden, [], "not caught by the seeds {SEEDS:?}");
}
