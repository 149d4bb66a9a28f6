//! I1, I2, I3: one decision, one end, one place in the session.

use protocol::turn::{State, Turn};

use super::{Evidence, Violation, violation};

pub(super) fn check(evidence: &Evidence<'_>, found: &mut Vec<Violation>) {
    for (_, _, before, after) in evidence.heads() {
        match before {
            Some(before) => step(before, after, found),
            None => birth(evidence, after, found),
        }
        indexed(after, found);
    }
    sequences(evidence, found);
}

/// A write on a head that was there.
fn step(before: &Turn, after: &Turn, found: &mut Vec<Violation>) {
    let turn = &after.key.turn;
    if matches!(before.state, State::Finalized(_)) && before != after {
        found.push(violation("I2", format!("terminal turn {turn} changed")));
    } else if before.settlement().is_some() && before.settlement() != after.settlement() {
        found.push(violation("I1", format!("settled turn {turn} was decided again")));
    }
    let legal = match (&before.state, &after.state) {
        (State::Running { .. } | State::AwaitingTools { .. }, State::Finalized(settlement)) => {
            // A turn that awaits tools is superseded and ended in one transaction.
            matches!(before.state, State::AwaitingTools { .. }) && settlement.verdict.writer().is_none()
        }
        (State::AwaitingTools { .. }, State::AwaitingTools { .. }) => false,
        _ => true,
    };
    if !legal {
        let (from, to) = (before.state.phase(), after.state.phase());
        found.push(violation("I1", format!("turn {turn} went from {from:?} to {to:?}")));
    }
    let same = |one: &Turn| {
        (one.sequence, one.fingerprint, one.requested_by.clone(), one.created, one.chain.clone())
    };
    if same(before) != same(after) {
        found.push(violation("I3", format!("turn {turn} changed its identity")));
    }
}

fn birth(evidence: &Evidence<'_>, turn: &Turn, found: &mut Vec<Violation>) {
    if !matches!(turn.state, State::Running { .. }) {
        found.push(violation("I1", format!("turn {} was born {:?}", turn.key.turn, turn.state.phase())));
    }
    let elder = evidence
        .heads()
        .take_while(|(_, _, _, after)| after.key != turn.key)
        .filter(|(_, _, before, after)| before.is_none() && after.key.session == turn.key.session)
        .map(|(_, _, _, after)| after.sequence)
        .max();
    if turn.sequence != elder.unwrap_or(0) + 1 {
        let sequence = turn.sequence;
        found.push(violation("I3", format!("turn {} got {sequence} after {elder:?}", turn.key.turn)));
    }
}

/// I12 rests on it: whatever is not terminal is in the sparse index, and nothing else.
fn indexed(turn: &Turn, found: &mut Vec<Violation>) {
    if turn.due.is_none() != matches!(turn.state, State::Finalized(_)) {
        found.push(violation("I12", format!("turn {} has due time {:?}", turn.key.turn, turn.due)));
    }
}

fn sequences(evidence: &Evidence<'_>, found: &mut Vec<Violation>) {
    for session in evidence.table.sessions.values() {
        let heads = evidence.table.heads.values().filter(|turn| turn.key.session == session.key);
        let mut sequences: Vec<u64> = heads.map(|turn| turn.sequence).collect();
        sequences.sort_unstable();
        if !sequences.iter().copied().eq(1..=session.turn_count) {
            let count = session.turn_count;
            found.push(violation("I3", format!("{count} turns have the sequence numbers {sequences:?}")));
        }
    }
}
