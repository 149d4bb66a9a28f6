//! I9: at most one live attempt, and no model call after a durable outcome.

use std::collections::BTreeMap;

use protocol::{
    id::{AttemptId, TurnKey},
    payload::{Kind, Payload},
    transition::take::takeable_at,
    turn::State,
};

use super::{Evidence, Violation, violation};
use crate::{ledger::Event, schedule::ProcessId};

/// How far the clocks of two machines may be apart.
const SKEW_MILLIS: i64 = 800;

pub(super) fn check(evidence: &Evidence<'_>, found: &mut Vec<Violation>) {
    taken_when_over(evidence, found);
    calls(evidence, found);
}

/// Ownership is taken only from an attempt whose lease, as stored at that instant, is over.
fn taken_when_over(evidence: &Evidence<'_>, found: &mut Vec<Violation>) {
    // A taker that saw the lease over before the wall clock went back was right.
    let mut latest = i64::MIN;
    let mut walls = evidence.entries.iter().map(|entry| {
        latest = latest.max(entry.wall.as_millis());
        latest
    });
    let latest_at: Vec<i64> = walls.by_ref().collect();
    for (index, _, before, after) in evidence.heads() {
        let Some(before) = before else { continue };
        let (State::Running { lease_ends, .. }, State::Running { .. }) = (&before.state, &after.state) else {
            continue;
        };
        let over = takeable_at(*lease_ends, evidence.timing).as_millis();
        if before.attempt != after.attempt && latest_at[index] + SKEW_MILLIS < over {
            found.push(violation("I9", format!("{} was taken from a live attempt", after.key.turn)));
        }
    }
}

fn calls(evidence: &Evidence<'_>, found: &mut Vec<Violation>) {
    // A wall clock that jumps ahead ends leases that their holders still believe in; fencing keeps that
    // harmless, but two calls may overlap.
    let jumped = evidence.entries.windows(2).any(|pair| {
        let passed = pair[1].monotonic.saturating_sub(pair[0].monotonic).as_millis();
        let wall = pair[1].wall.as_millis() - pair[0].wall.as_millis();
        wall > i64::try_from(passed).unwrap_or(i64::MAX) + 2
    });
    let mut under_way: BTreeMap<&TurnKey, ProcessId> = BTreeMap::new();
    let mut known: BTreeMap<&AttemptId, ProcessId> = BTreeMap::new();
    for (index, entry) in evidence.entries.iter().enumerate() {
        match &entry.event {
            Event::AttemptId { process, attempt } => {
                known.insert(attempt, *process);
            }
            Event::ModelCalled { process, turn, .. } => {
                if let Some(other) = under_way.insert(turn, *process)
                    && other != *process
                    && !jumped
                {
                    found.push(violation("I9", format!("two attempts of {} call the model", turn.turn)));
                }
                called(evidence, index, *process, turn, &known, found);
            }
            Event::ModelLeft { process, turn } if under_way.get(turn) == Some(process) => {
                under_way.remove(turn);
            }
            _ => {}
        }
    }
}

/// The caller owns the turn, and there was no outcome to be found when it took it.
fn called(
    evidence: &Evidence<'_>,
    at: usize,
    process: ProcessId,
    turn: &TurnKey,
    known: &BTreeMap<&AttemptId, ProcessId>,
    found: &mut Vec<Violation>,
) {
    let taken = evidence.heads().take_while(|(index, ..)| *index < at).find(|(_, _, before, after)| {
        after.key == *turn
            && known.get(&after.attempt) == Some(&process)
            && before.is_none_or(|before| before.attempt != after.attempt)
    });
    let Some((taken_at, _, _, head)) = taken else {
        found.push(violation("I9", format!("a model call for {} by nobody's attempt", turn.turn)));
        return;
    };
    let State::Running { stage, .. } = &head.state else {
        return;
    };
    let durable = evidence.entries[..taken_at].iter().any(|entry| match &entry.event {
        Event::Stored { payload: Payload { turn: of, kind: Kind::Outcome(writer) }, .. } => {
            of == turn && stage.attempts.contains(writer)
        }
        _ => false,
    });
    if durable {
        found.push(violation("I9", format!("{} had a durable outcome and called the model", turn.turn)));
    }
}
