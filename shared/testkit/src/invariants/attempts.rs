//! I9: at most one live attempt, and no model call after a durable outcome.

use std::collections::BTreeMap;

use protocol::{
    id::{AttemptId, TurnKey},
    payload::{Kind, Payload},
    transition::take_over::takeover_after,
    turn::State,
};

use super::{RunRecord, Violation, violation};
use crate::{ledger::Event, schedule::ProcessId};

/// The most difference between two machines' clocks.
const SKEW_MILLIS: i64 = 800;

pub(super) fn check(record: &RunRecord<'_>, violations: &mut Vec<Violation>) {
    check_takeovers(record, violations);
    check_calls(record, violations);
}

/// Checks that ownership is taken only after the stored lease has expired.
fn check_takeovers(record: &RunRecord<'_>, violations: &mut Vec<Violation>) {
    // A taker that saw the lease expired before the wall clock went back was right.
    let mut latest = i64::MIN;
    let mut walls = record.entries.iter().map(|entry| {
        latest = latest.max(entry.wall.as_millis());
        latest
    });
    let latest_at: Vec<i64> = walls.by_ref().collect();
    for (index, _, before, after) in record.heads() {
        let Some(before) = before else { continue };
        let (State::Running { lease_ends, .. }, State::Running { .. }) = (&before.state, &after.state) else {
            continue;
        };
        let over = takeover_after(*lease_ends, record.timing).as_millis();
        if before.attempt != after.attempt && latest_at[index] + SKEW_MILLIS < over {
            violations.push(violation("I9", format!("{} was taken from a live attempt", after.key.turn)));
        }
    }
}

fn check_calls(record: &RunRecord<'_>, violations: &mut Vec<Violation>) {
    // A wall clock that jumps ahead expires leases that their holders still trust. Fencing keeps that harmless, but
    // two calls may overlap.
    let jumped = record.entries.windows(2).any(|pair| {
        let passed = pair[1].monotonic.saturating_sub(pair[0].monotonic).as_millis();
        let wall = pair[1].wall.as_millis() - pair[0].wall.as_millis();
        wall > i64::try_from(passed).unwrap_or(i64::MAX) + 2
    });
    let mut under_way: BTreeMap<&TurnKey, ProcessId> = BTreeMap::new();
    let mut processes: BTreeMap<&AttemptId, ProcessId> = BTreeMap::new();
    for (index, entry) in record.entries.iter().enumerate() {
        match &entry.event {
            Event::AttemptId { process, attempt } => {
                processes.insert(attempt, *process);
            }
            Event::ModelCalled { process, turn, .. } => {
                if let Some(other) = under_way.insert(turn, *process)
                    && other != *process
                    && !jumped
                {
                    violations.push(violation("I9", format!("two attempts of {} call the model", turn.turn)));
                }
                check_call(record, index, *process, turn, &processes, violations);
            }
            Event::ModelCallEnded { process, turn } if under_way.get(turn) == Some(process) => {
                under_way.remove(turn);
            }
            _ => {}
        }
    }
}

/// Checks that the caller owns the turn, and that no outcome existed when it took the turn.
fn check_call(
    record: &RunRecord<'_>,
    at: usize,
    process: ProcessId,
    turn: &TurnKey,
    processes: &BTreeMap<&AttemptId, ProcessId>,
    violations: &mut Vec<Violation>,
) {
    let takeover = record.heads().take_while(|(index, ..)| *index < at).find(|(_, _, before, after)| {
        after.key == *turn
            && processes.get(&after.attempt) == Some(&process)
            && before.is_none_or(|before| before.attempt != after.attempt)
    });
    let Some((taken_at, _, _, head)) = takeover else {
        violations.push(violation("I9", format!("a model call for {} by nobody's attempt", turn.turn)));
        return;
    };
    let State::Running { stage, .. } = &head.state else {
        return;
    };
    let durable = record.entries[..taken_at].iter().any(|entry| match &entry.event {
        Event::Stored { payload: Payload { turn: of, kind: Kind::Outcome(writer) }, .. } => {
            of == turn && stage.attempts.contains(writer)
        }
        _ => false,
    });
    if durable {
        violations.push(violation("I9", format!("{} had a durable outcome and called the model", turn.turn)));
    }
}
