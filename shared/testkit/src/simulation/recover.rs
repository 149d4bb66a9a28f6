//! Recovery: faults have stopped, and everything finishes within its bound.

use std::time::Duration;

use super::{
    drive::{Driver, SWEEP_INTERVAL},
    plan::{Client, Recovery, ToolBehavior},
};
use crate::{
    deployment::ClientRequest,
    invariants::{self, Violation},
};

/// The time that latencies, jitter and clock skew may add to a bound.
const SLACK: Duration = Duration::from_secs(15);
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn recover(driver: &mut Driver) -> Vec<Violation> {
    let clock = driver.deployment.schedule.clock().clone();
    clock.stop_faults();
    let mut violations = Vec::new();
    match driver.plan.recovery {
        Recovery::ClientsReturn => {
            driver.patient = true;
            for client in 0..driver.plan.clients.len() {
                if !driver.answered.contains(&client) {
                    driver.send(client);
                }
            }
        }
        Recovery::NewTurnAfterPowerCut => {
            driver.cut_power();
            driver.patient = true;
            violations.extend(new_turns(driver));
        }
        Recovery::SweepAlone => {}
    }
    // I12: for work that was running when faults stopped, or that returning clients started since.
    let work = driver.plan.script.max_latency * 2 + Duration::from_secs(60) * tries(driver);
    let timing = &driver.plan.timing;
    let bound = timing.lease + timing.takeover_margin + timing.abandon_grace + 2 * SWEEP_INTERVAL;
    driver.run_until(clock.monotonic() + work + bound + clock_rollback(driver) + SLACK);
    violations.extend(invariants::open_turns(&driver.deployment.table.contents(), true));
    driver.run_until(clock.monotonic() + Duration::from_secs(1));
    pass_a_day(driver);
    violations.extend(invariants::open_turns(&driver.deployment.table.contents(), false));
    replay_all(driver);
    violations
}

/// Checks I16: each session accepts a new turn within a lease.
fn new_turns(driver: &mut Driver) -> Vec<Violation> {
    let begun = driver.deployment.schedule.clock().monotonic();
    let timing = driver.plan.timing;
    let latest = begun + timing.lease + timing.takeover_margin + clock_rollback(driver) + SLACK;
    let sessions: Vec<_> = {
        let table = driver.deployment.table.contents();
        let usable = table.sessions.values().filter(|session| !session.is_purged());
        usable.map(|session| session.key.clone()).collect()
    };
    let mut probes = Vec::new();
    for session in sessions {
        let sent = ClientRequest::new("ann", session.session.as_str(), "probe", "Are you there?");
        probes.push(sent.turn());
        driver.add(Client { sent, at: Duration::ZERO, tries: 1, tool_behavior: ToolBehavior::PROMPT });
    }
    driver.run_until(latest);
    let entries = driver.deployment.ledger.entries();
    probes.iter().filter_map(|probe| invariants::started_within(&entries, probe, latest)).collect()
}

/// Returning clients work one after another.
fn tries(driver: &Driver) -> u32 {
    match driver.plan.recovery {
        Recovery::ClientsReturn => u32::try_from(driver.plan.clients.len()).unwrap_or(1),
        Recovery::NewTurnAfterPowerCut | Recovery::SweepAlone => 1,
    }
}

/// A wall clock that went back prolongs leases.
fn clock_rollback(driver: &Driver) -> Duration {
    let back: i64 = driver.plan.jumps.iter().map(|(_, millis)| (-millis).max(0)).sum();
    Duration::from_millis(back.unsigned_abs())
}

/// Lets the tool deadlines pass. Nothing else happens in that day, so it needs few sweeps.
fn pass_a_day(driver: &mut Driver) {
    driver.forget_timers();
    driver.deployment.wait(DAY);
    for _ in 0..2 {
        let sweep = driver.deployment.sweep(crate::schedule::Faults::None);
        driver.deployment.finish(&sweep);
        driver.deployment.wait(Duration::from_secs(5));
    }
}

/// Checks I5 and I9: repeats every request, so that the responses are compared with all earlier ones.
fn replay_all(driver: &mut Driver) {
    let heads = driver.deployment.table.contents().heads.clone();
    for (client, plan) in driver.plan.clients.clone().into_iter().enumerate() {
        let started = heads.get(&plan.sent.turn());
        if started.is_some_and(|head| head.fingerprint == plan.sent.request.fingerprint()) {
            let process = driver.deployment.execute(&plan.sent, MINUTE, crate::schedule::Faults::None);
            driver.deployment.finish(&process);
        }
        for results in driver.conversations[client].accepted.clone() {
            let faults = crate::schedule::Faults::None;
            let process = driver.deployment.resume(&plan.sent.caller, &results, MINUTE, faults);
            driver.deployment.finish(&process);
        }
    }
}
