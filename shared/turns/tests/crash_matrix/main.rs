//! The crash matrix: every flow with every fault at every effect, alone and in pairs. After recovery every invariant
//! must hold.
//!
//! The effects are those that a run without faults reaches, so a flow's new effects are covered as soon as they
//! exist. The second fault of a pair may hit the recovery from the first.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

mod flows;
mod run;

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use testkit::fault::Fault;

use flows::{FLOWS, Flow};
use run::{Plan, Recovery, run};

/// A sample of the pairs: every 23rd first fault with every 29th later one. `CRASH_MATRIX_PAIRS=all` runs them
/// all, which takes minutes. Prime strides reach every flow, effect and fault.
const FIRST_STRIDE: usize = 23;
const SECOND_STRIDE: usize = 29;

#[test]
fn every_flow_recovers_without_faults() {
    for flow in FLOWS {
        for recovery in Recovery::ALL {
            let cell = run(flow, recovery, &Plan::new());
            assert!(cell.effects > 0, "{} has no effects", flow.name);
            assert_eq!(cell.violations, [], "{} {recovery:?}", flow.name);
            println!("{:<40} {recovery:?}: {} effects", flow.name, cell.effects);
        }
    }
}

#[test]
fn single_fault_at_any_effect_breaks_no_invariant() {
    let mut cases = Vec::new();
    for flow in FLOWS {
        for recovery in Recovery::ALL {
            for effect in 0..run(flow, recovery, &Plan::new()).effects {
                cases.extend(Fault::ALL.map(|fault| (flow, recovery, Plan::from([(effect, fault)]))));
            }
        }
    }
    println!("{} single faults", cases.len());
    all_hold(&cases);
}

#[test]
fn fault_pairs_break_no_invariant() {
    let all = std::env::var("CRASH_MATRIX_PAIRS").is_ok_and(|pairs| pairs == "all");
    let (first_stride, second_stride) = if all { (1, 1) } else { (FIRST_STRIDE, SECOND_STRIDE) };
    let mut cases = Vec::new();
    let (mut firsts, mut seconds) = (0, 0);
    for flow in FLOWS {
        for recovery in Recovery::ALL {
            let effects = run(flow, recovery, &Plan::new()).effects;
            for first in (0..effects).flat_map(|effect| Fault::ALL.map(|fault| (effect, fault))) {
                firsts += 1;
                if firsts % first_stride != 0 {
                    continue;
                }
                let reached = run(flow, recovery, &Plan::from([first])).reached;
                for second in
                    (first.0 + 1..reached).flat_map(|effect| Fault::ALL.map(|fault| (effect, fault)))
                {
                    seconds += 1;
                    if seconds % second_stride == 0 {
                        cases.push((flow, recovery, Plan::from([first, second])));
                    }
                }
            }
        }
    }
    println!("{} pairs of faults", cases.len());
    all_hold(&cases);
}

/// Runs the cases on all cores and reports the first few violations.
fn all_hold(cases: &[(&'static Flow, Recovery, Plan)]) {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut broken = Vec::new();
        while let Some((flow, recovery, plan)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let violations = run(flow, *recovery, plan).violations;
            if !violations.is_empty() {
                broken.push(format!("{} {recovery:?} {plan:?}: {violations:#?}", flow.name));
            }
        }
        broken
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let broken: Vec<String> = thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    let few = broken.iter().take(5).cloned().collect::<Vec<_>>().join("\n");
    assert!(broken.is_empty(), "{} of {} cases broke an invariant:\n{few}", broken.len(), cases.len());
}
