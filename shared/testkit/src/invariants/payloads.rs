//! I10: committed metadata never points at a missing payload, and points at the right one.

use std::collections::BTreeSet;

use contracts::Fingerprint;
use protocol::{
    id::TurnKey,
    payload::{Kind, Payload},
    transition::finalize::report,
    turn::{State, Turn},
};

use super::{Evidence, Violation, violation};
use crate::ledger::Event;

pub(super) fn check(evidence: &Evidence<'_>, found: &mut Vec<Violation>) {
    let mut stored: BTreeSet<&Payload> = BTreeSet::new();
    let mut ended: BTreeSet<&TurnKey> = BTreeSet::new();
    // Details may be in the same transaction as the head, and come after it in the record.
    let mut finalized: Vec<&Turn> = Vec::new();
    for entry in evidence.entries {
        match &entry.event {
            Event::Stored { payload, .. } => {
                stored.insert(payload);
            }
            Event::Removed(payload) => {
                stored.remove(payload);
            }
            Event::Result(detail) => {
                ended.insert(&detail.key);
            }
            Event::Head { after, .. } => {
                for kind in named_by(after) {
                    let payload = Payload { turn: after.key.clone(), kind };
                    if !stored.contains(&(evidence.key)(&payload)) {
                        let what = format!("{} names {:?}, which is not there", after.key.turn, payload.kind);
                        found.push(violation("I10", what));
                    }
                }
                if matches!(after.state, State::Finalized(_)) {
                    finalized.push(after);
                }
            }
            _ => {}
        }
    }
    for turn in finalized {
        shows(evidence, turn, &ended, found);
    }
    for turn in evidence.table.heads.values() {
        instructed(evidence, turn, found);
    }
}

/// The objects that a head says are there.
fn named_by(turn: &Turn) -> Vec<Kind> {
    let mut kinds = vec![Kind::Instruction(turn.stored_request())];
    kinds.extend(turn.accepted.iter().flat_map(|accepted| {
        [Kind::Outcome(accepted.suspended_by.clone()), Kind::ToolResults(accepted.resumed_by.clone())]
    }));
    kinds.extend(turn.recorded.iter().map(|step| Kind::Step(step.by.clone(), step.step)));
    match &turn.state {
        State::Running { .. } => {}
        State::AwaitingTools { .. } => kinds.push(Kind::Outcome(turn.attempt.clone())),
        State::Settled(settlement) | State::Finalized(settlement) => {
            kinds.extend(settlement.verdict.writer().cloned().map(Kind::Outcome));
        }
    }
    kinds
}

/// A terminal turn's detail is there and says what its outcome says.
fn shows(evidence: &Evidence<'_>, turn: &Turn, ended: &BTreeSet<&TurnKey>, found: &mut Vec<Violation>) {
    let Some(settlement) = turn.settlement() else { return };
    if !ended.contains(&turn.key) {
        found.push(violation("I10", format!("terminal {} has no detail", turn.key.turn)));
        return;
    }
    let expected = report(&settlement.verdict, evidence.findings(turn).as_ref());
    if evidence.table.results.get(&turn.key).is_none_or(|detail| detail.report != expected) {
        found.push(violation("I10", format!("{}'s detail is not its outcome's", turn.key.turn)));
    }
}

/// The instruction is the very request that the turn was started with.
fn instructed(evidence: &Evidence<'_>, turn: &Turn, found: &mut Vec<Violation>) {
    let stored = evidence.object(&turn.key, Kind::Instruction(turn.stored_request()));
    if stored.is_none() {
        found.push(violation("I10", format!("{}'s instruction is not there", turn.key.turn)));
    }
    if stored.is_some_and(|body| Fingerprint::of_bytes(body) != turn.fingerprint) {
        found.push(violation("I10", format!("{}'s instruction is another request's", turn.key.turn)));
    }
    if evidence.table.requests.get(&turn.key).is_none_or(|request| request.fingerprint != turn.fingerprint) {
        found.push(violation("I10", format!("{} lacks its request", turn.key.turn)));
    }
}
