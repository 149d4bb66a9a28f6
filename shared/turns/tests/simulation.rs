//! Runs 1,200 seeds of clients, executors, finalizers and sweeps under faults, and checks every invariant.
//!
//! A failure names its seed. To print its trace, run `SIMULATION_SEED=… cargo test -p turns --test simulation
//! replay_seed -- --nocapture`, with `SIMULATION_EFFECTS=1` for a run of effects. `SIMULATION_SEEDS=…` changes the number of
//! seeds.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use testkit::simulation::{Counts, Run, run, run_effects};

/// Seeds of a run without `SIMULATION_SEEDS`. `SIMULATION_SEEDS=10000` is the long form.
const SEEDS: u64 = 1_200;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn seeds_break_no_invariant() {
    let seeds = number("SIMULATION_SEEDS").unwrap_or(SEEDS);
    let next = AtomicU64::new(0);
    let work = || {
        let (mut counts, mut broken) = (Counts::default(), Vec::new());
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds || broken.len() >= 20 {
                return (counts, broken);
            }
            let Run { violations, counts: more, .. } = run(seed, None, false);
            counts += more;
            if !violations.is_empty() {
                broken.push((seed, violations));
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let done: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let (mut counts, mut broken) = (Counts::default(), Vec::new());
    for (more, worse) in done {
        counts += more;
        broken.extend(worse);
    }
    broken.sort();
    for (seed, violations) in &broken {
        println!("SIMULATION_SEED={seed}: {violations:#?}");
    }
    assert!(broken.is_empty(), "{} seeds broke an invariant", broken.len());
    println!("{seeds} seeds");
    for (name, count) in counts.named() {
        println!("{count:>10} {name}");
        // A store that is unreachable for a whole lease is too rare for a small run.
        assert!(count > 0 || seeds < SEEDS || name == "storage_unavailable", "nothing was {name}");
    }
}

#[test]
fn seeds_of_effects_break_no_invariant() {
    let mut counts = Counts::default();
    for seed in 0..number("SIMULATION_SEEDS").unwrap_or(SEEDS) / 4 {
        let Run { violations, counts: more, .. } = run_effects(seed, None, false);
        assert_eq!(violations, [], "seed {seed}");
        counts += more;
    }
    println!(
        "{} effects, {} unknown, {} takeovers",
        counts.effects, counts.unknown_effects, counts.takeovers
    );
    assert!(counts.effects > 0 && counts.unknown_effects > 0 && counts.takeovers > 0, "{counts:?}");
}

#[test]
fn trace_is_determined_by_seed() {
    for seed in 0..20 {
        let (once, again) = (run(seed, None, true), run(seed, None, true));
        assert_eq!(once.lines, again.lines, "seed {seed}");
        assert_eq!(once.trace_hash, again.trace_hash, "seed {seed}");
        assert_eq!(once.trace_hash, run(seed, None, false).trace_hash, "a silent run of seed {seed}");
        assert_ne!(once.trace_hash, run(seed + 1_000, None, false).trace_hash, "seed {seed}");
    }
}

#[test]
fn replay_seed_from_environment() {
    let Some(seed) = number("SIMULATION_SEED") else {
        return;
    };
    let run =
        if std::env::var_os("SIMULATION_EFFECTS").is_some() { run_effects } else { run }(seed, None, true);
    for line in &run.lines {
        println!("{line}");
    }
    println!("{:#?}", run.counts);
    assert_eq!(run.violations, [], "seed {seed}");
}
