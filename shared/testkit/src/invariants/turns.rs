//! I1, I2, I3: one decision, one end, one place in the session.

use protocol::turn::{State, Turn};

use super::{RunRecord, Violation, violation};
use crate::ledger::Event;

pub(super) fn check(record: &RunRecord<'_>, violations: &mut Vec<Violation>) {
    for (_, _, before, after) in record.heads() {
        match before {
            Some(before) => step(before, after, violations),
            None => birth(record, after, violations),
        }
        indexed(after, violations);
    }
    sequences(record, violations);
}

/// Checks a write to an existing head.
fn step(before: &Turn, after: &Turn, violations: &mut Vec<Violation>) {
    let turn = &after.key.turn;
    if matches!(before.state, State::Finalized(_)) && before != after {
        violations.push(violation("I2", format!("terminal turn {turn} changed")));
    } else if before.settlement().is_some() && before.settlement() != after.settlement() {
        violations.push(violation("I1", format!("settled turn {turn} was decided again")));
    }
    let legal = match (&before.state, &after.state) {
        (State::Running { .. } | State::AwaitingTools { .. }, State::Finalized(settlement)) => {
            // Superseding a turn that awaits tools is one transaction.
            matches!(before.state, State::AwaitingTools { .. }) && settlement.verdict.writer().is_none()
        }
        (State::AwaitingTools { .. }, State::AwaitingTools { .. }) => false,
        _ => true,
    };
    if !legal {
        let (from, to) = (before.state.phase(), after.state.phase());
        violations.push(violation("I1", format!("turn {turn} went from {from:?} to {to:?}")));
    }
    let same = |one: &Turn| {
        (one.sequence, one.fingerprint, one.requested_by.clone(), one.created, one.chain.clone())
    };
    if same(before) != same(after) {
        violations.push(violation("I3", format!("turn {turn} changed its identity")));
    }
}

fn birth(record: &RunRecord<'_>, turn: &Turn, violations: &mut Vec<Violation>) {
    let is_restored = |event: &Event| matches!(event, Event::Restored(key) if *key == turn.key);
    if record.entries.iter().any(|entry| is_restored(&entry.event)) {
        return;
    }
    if !matches!(turn.state, State::Running { .. }) {
        violations.push(violation("I1", format!("turn {} was born {:?}", turn.key.turn, turn.state.phase())));
    }
    let elder = record
        .heads()
        .take_while(|(_, _, _, after)| after.key != turn.key)
        .filter(|(_, _, before, after)| before.is_none() && after.key.session == turn.key.session)
        .map(|(_, _, _, after)| after.sequence)
        .max();
    if turn.sequence != elder.unwrap_or(0) + 1 {
        let sequence = turn.sequence;
        violations.push(violation("I3", format!("turn {} got {sequence} after {elder:?}", turn.key.turn)));
    }
}

/// Checks that exactly the non-terminal turns are in the sparse index. I12 depends on it.
fn indexed(turn: &Turn, violations: &mut Vec<Violation>) {
    if turn.due.is_none() != matches!(turn.state, State::Finalized(_)) {
        violations.push(violation("I12", format!("turn {} has due time {:?}", turn.key.turn, turn.due)));
    }
}

fn sequences(record: &RunRecord<'_>, violations: &mut Vec<Violation>) {
    // What is left of a purged session, or of an import that isn't published, is no session's.
    for session in record.table.sessions.values().filter(|session| !session.is_purged()) {
        let heads = record.table.heads.values().filter(|turn| turn.key.session == session.key);
        let mut sequences: Vec<u64> = heads.map(|turn| turn.sequence).collect();
        sequences.sort_unstable();
        if !sequences.iter().copied().eq(1..=session.turn_count) {
            let count = session.turn_count;
            violations
                .push(violation("I3", format!("{count} turns have the sequence numbers {sequences:?}")));
        }
    }
}
