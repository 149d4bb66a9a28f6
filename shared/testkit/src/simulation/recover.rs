//! After the storm: nothing fails any more, and everything comes right within its bound.

use std::time::Duration;

use super::{
    drive::{Driver, SWEEP_EVERY},
    plan::{Client, Manner, Recovery},
};
use crate::{
    deployment::Sent,
    invariants::{self, Violation},
};

/// What latencies, jitter and clock skew may add to a bound.
const SLACK: Duration = Duration::from_secs(15);
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn recover(driver: &mut Driver) -> Vec<Violation> {
    let clock = driver.deployment.schedule.clock().clone();
    clock.calm_down();
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
    // I12: of what ran when faults stopped, or was started since by clients who came back.
    let work = driver.plan.script.slowest * 2 + Duration::from_secs(60) * tries(driver);
    let timing = &driver.plan.timing;
    let bound = timing.lease + timing.take_late + timing.abandon_grace + 2 * SWEEP_EVERY;
    driver.run_until(clock.monotonic() + work + bound + went_back(driver) + SLACK);
    violations.extend(invariants::open_turns(&driver.deployment.table.contents(), true));
    driver.run_until(clock.monotonic() + Duration::from_secs(1));
    a_day_later(driver);
    violations.extend(invariants::open_turns(&driver.deployment.table.contents(), false));
    replay_all(driver);
    violations
}

/// I16: each session takes a new turn within a lease.
fn new_turns(driver: &mut Driver) -> Vec<Violation> {
    let begun = driver.deployment.schedule.clock().monotonic();
    let timing = driver.plan.timing;
    let latest = begun + timing.lease + timing.take_late + went_back(driver) + SLACK;
    let sessions: Vec<_> = driver.deployment.table.contents().sessions.keys().cloned().collect();
    let mut probes = Vec::new();
    for session in sessions {
        let sent = Sent::new("ann", session.session.as_str(), "probe", "Are you there?");
        probes.push(sent.turn());
        driver.add(Client { sent, at: Duration::ZERO, tries: 1, manner: Manner::PROMPT });
    }
    driver.run_until(latest);
    let entries = driver.deployment.ledger.entries();
    probes.iter().filter_map(|probe| invariants::started_within(&entries, probe, latest)).collect()
}

/// Clients who come back work one after another.
fn tries(driver: &Driver) -> u32 {
    match driver.plan.recovery {
        Recovery::ClientsReturn => u32::try_from(driver.plan.clients.len()).unwrap_or(1),
        Recovery::NewTurnAfterPowerCut | Recovery::SweepAlone => 1,
    }
}

/// A wall clock that went back makes leases last longer.
fn went_back(driver: &Driver) -> Duration {
    let back: i64 = driver.plan.jumps.iter().map(|(_, millis)| (-millis).max(0)).sum();
    Duration::from_millis(back.unsigned_abs())
}

/// The tool deadlines pass. Nothing else happens in that day, so its sweeps are left out.
fn a_day_later(driver: &mut Driver) {
    driver.forget_timers();
    driver.deployment.wait(DAY);
    for _ in 0..2 {
        let sweep = driver.deployment.sweep(crate::schedule::Faults::None);
        driver.deployment.finish(&sweep);
        driver.deployment.wait(Duration::from_secs(5));
    }
}

/// I5, I9: every request once more; the answers are compared with everything that was said before.
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
