//! I10: committed metadata never points to a missing or wrong payload.

use std::collections::BTreeSet;

use contracts::Fingerprint;
use protocol::{
    id::TurnKey,
    payload::{Kind, Payload},
    turn::{State, Turn},
};

use super::{RunRecord, Violation, violation};
use crate::ledger::Event;

pub(super) fn check(record: &RunRecord<'_>, violations: &mut Vec<Violation>) {
    let mut stored: BTreeSet<&Payload> = BTreeSet::new();
    let mut ended: BTreeSet<&TurnKey> = BTreeSet::new();
    // Details may be in the same transaction as the head and follow it in the ledger.
    let mut finalized: Vec<&Turn> = Vec::new();
    for entry in record.entries {
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
                    if !stored.contains(&(record.key)(&payload)) {
                        let what = format!("{} names {:?}, which is not there", after.key.turn, payload.kind);
                        violations.push(violation("I10", what));
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
        shows(record, turn, &ended, violations);
    }
    let is_purged = |turn: &&Turn| record.is_purged(&turn.key.session);
    for turn in record.table.heads.values().filter(|turn| !is_purged(turn)) {
        instructed(record, turn, violations);
    }
}

/// The objects that a head refers to. The request of an open turn may be inline, so it is checked separately.
fn named_by(turn: &Turn) -> Vec<Kind> {
    let mut kinds = Vec::new();
    if matches!(turn.state, State::Finalized(_)) {
        kinds.push(Kind::Instruction(turn.stored_request()));
    }
    kinds.extend(turn.accepted_results.iter().flat_map(|accepted| {
        [Kind::Outcome(accepted.suspended_by.clone()), Kind::ToolResults(accepted.resumed_by.clone())]
    }));
    kinds.extend(turn.last_step.iter().map(|step| Kind::Step(step.attempt.clone(), step.step)));
    match &turn.state {
        State::Running { .. } => {}
        State::AwaitingTools { .. } => kinds.push(Kind::Outcome(turn.attempt.clone())),
        State::Settled(settlement) | State::Finalized(settlement) => {
            kinds.extend(settlement.verdict.writer().cloned().map(Kind::Outcome));
        }
    }
    kinds
}

/// Checks that a terminal turn's detail exists and matches its outcome.
fn shows(record: &RunRecord<'_>, turn: &Turn, ended: &BTreeSet<&TurnKey>, violations: &mut Vec<Violation>) {
    if !ended.contains(&turn.key) {
        violations.push(violation("I10", format!("terminal {} has no detail", turn.key.turn)));
        return;
    }
    let mut expected = record.report(turn);
    let detail = record.table.results.get(&turn.key);
    if record.open_round(turn).is_some() {
        // A call's result may have been stored after the turn was finalized with a warning of it.
        expected.warnings = detail.map(|detail| detail.report.warnings.clone()).unwrap_or_default();
    }
    if detail.is_none_or(|detail| detail.report != expected) {
        violations.push(violation("I10", format!("{}'s detail is not its outcome's", turn.key.turn)));
    }
}

/// Checks that the stored instruction, in the bucket or inline, is the request that started the turn.
fn instructed(record: &RunRecord<'_>, turn: &Turn, violations: &mut Vec<Violation>) {
    let inline = record.table.requests.get(&turn.key).and_then(|request| request.inline_json.as_ref());
    let stored = record.object(&turn.key, Kind::Instruction(turn.stored_request()));
    let stored = stored.map(|body| &body[..]).or(inline.map(|json| json.as_bytes()));
    if stored.is_none() {
        violations.push(violation("I10", format!("{}'s instruction is not there", turn.key.turn)));
    }
    if stored.is_some_and(|body| Fingerprint::hash_bytes(body) != turn.fingerprint) {
        violations.push(violation("I10", format!("{}'s instruction is another request's", turn.key.turn)));
    }
    if record.table.requests.get(&turn.key).is_none_or(|request| request.fingerprint != turn.fingerprint) {
        violations.push(violation("I10", format!("{} lacks its request", turn.key.turn)));
    }
}
