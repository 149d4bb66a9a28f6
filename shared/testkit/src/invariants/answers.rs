//! I4, I5: durable outcomes count, and only durable ones are reported.

use agent::outcome::Ending;
use std::collections::{BTreeMap, BTreeSet};

use agent::outcome::{Outcome, Response};
use protocol::{
    id::{AttemptId, TurnKey},
    payload::{self, Payload},
    turn::{EndReason, State, Turn, Verdict},
};

use super::{RunRecord, Violation, violation};
use crate::ledger::Event;

pub(super) fn check(record: &RunRecord<'_>, violations: &mut Vec<Violation>) {
    let mut heads: BTreeMap<&TurnKey, &Turn> = BTreeMap::new();
    let mut calls: BTreeSet<(&TurnKey, Vec<u8>)> = BTreeSet::new();
    for entry in record.entries {
        match &entry.event {
            Event::Head { after, .. } => {
                heads.insert(&after.key, after);
            }
            Event::Stored { payload, body } => {
                calls.extend(suspension(payload, body).map(|calls| (&payload.turn, calls)));
                if let Some(writer) = outcome_writer(payload, &heads) {
                    outcome_counts(record, &payload.turn, writer, violations);
                }
            }
            Event::Answered { turn, request, body } => match heads.get(turn) {
                Some(head) if head.fingerprint != *request => {
                    violations.push(violation("I9", format!("{} answered another request", turn.turn)));
                }
                Some(head) => check_durable(record, head, body, &calls, violations),
                None => violations.push(violation("I5", format!("{} was answered unstarted", turn.turn))),
            },
            Event::Continued { turn, body, .. } => match heads.get(turn) {
                Some(head) => check_durable(record, head, body, &calls, violations),
                None => violations.push(violation("I5", format!("{} was continued unstarted", turn.turn))),
            },
            Event::CancelAcknowledged(turn) => {
                reported_after_settlement(heads.get(turn).copied(), turn, "cancelled", violations)
            }
            Event::FinalizeAcknowledged(turn) => {
                acknowledged_after_the_end(heads.get(turn).copied(), turn, violations)
            }
            _ => {}
        }
    }
}

/// Returns the writer of an outcome object, if it owned its running turn at that time.
fn outcome_writer<'a>(payload: &'a Payload, heads: &BTreeMap<&TurnKey, &Turn>) -> Option<&'a AttemptId> {
    let payload::Kind::Outcome(writer) = &payload.kind else {
        return None;
    };
    let head = heads.get(&payload.turn)?;
    (matches!(head.state, State::Running { .. }) && head.attempt == *writer).then_some(writer)
}

/// Checks I4: the turn ends with this outcome.
fn outcome_counts(
    record: &RunRecord<'_>,
    turn: &TurnKey,
    writer: &AttemptId,
    violations: &mut Vec<Violation>,
) {
    let Some(head) = record.table.heads.get(turn) else {
        return;
    };
    let suspends = record
        .outcome(turn, writer)
        .is_some_and(|outcome| matches!(outcome.ending, Ending::Suspended { .. }));
    let ends_well = match (&head.state, head.settlement().map(|settlement| &settlement.verdict)) {
        (_, Some(Verdict::Completed { writer: by } | Verdict::Failed { writer: by })) => {
            by == writer || suspends
        }
        (_, Some(Verdict::Ended(EndReason::Cancelled))) => true,
        // Its calls were answered. The turn's later outcome belongs to another attempt.
        _ if suspends && was_answered(record, turn, writer) => true,
        (_, Some(Verdict::Ended(EndReason::Superseded | EndReason::ToolDeadline))) => suspends,
        // Its writer never learned that it is durable, and the store was unreachable until the deadline.
        (_, Some(Verdict::Ended(EndReason::StorageUnavailable))) => !acknowledged(record, turn, writer),
        (_, Some(Verdict::Ended(EndReason::Abandoned))) => false,
        (State::AwaitingTools { .. }, None) => suspends,
        // Undecided, so nothing is lost.
        (_, None) => true,
    };
    if !ends_well {
        violations.push(violation("I4", format!("{}'s durable answer by {writer} was lost", turn.turn)));
    }
}

/// Returns true if results for the calls in this writer's outcome were accepted.
fn was_answered(record: &RunRecord<'_>, turn: &TurnKey, writer: &AttemptId) -> bool {
    record.heads().any(|(_, _, _, head)| {
        head.key == *turn
            && head.accepted_results.as_ref().is_some_and(|accepted| accepted.suspended_by == *writer)
    })
}

fn acknowledged(record: &RunRecord<'_>, turn: &TurnKey, writer: &AttemptId) -> bool {
    let payload = Payload { turn: turn.clone(), kind: payload::Kind::Outcome(writer.clone()) };
    let is_acknowledged =
        |event: &Event| matches!(event, Event::StoreAcknowledged(stored) if *stored == payload);
    record.entries.iter().any(|entry| is_acknowledged(&entry.event))
}

/// Returns the response that a client gets for a suspension.
fn suspension(payload: &Payload, stored: &[u8]) -> Option<Vec<u8>> {
    let payload::Kind::Outcome(_) = payload.kind else { return None };
    let outcome = Outcome::from_json(stored).ok()?;
    (matches!(outcome.ending, Ending::Suspended { .. })).then(|| outcome.response.to_bytes())
}

/// Checks I5: at the time of the response the store has the same outcome, and it can't change later.
///
/// `calls` are the responses of all suspensions stored so far.
fn check_durable(
    record: &RunRecord<'_>,
    head: &Turn,
    body: &[u8],
    calls: &BTreeSet<(&TurnKey, Vec<u8>)>,
    violations: &mut Vec<Violation>,
) {
    let turn = &head.key.turn;
    let same = |stored: Option<Response>| stored.is_some_and(|response| response.to_bytes() == body);
    // Tool calls remain a valid response for their round, whatever happens to the turn later.
    let calls = calls.iter().any(|(of, calls)| **of == head.key && calls == body);
    let is_durable = match &head.state {
        // The calls of a round that has been answered since.
        State::Running { .. } | State::AwaitingTools { .. } => calls,
        State::Settled(settlement) | State::Finalized(settlement) => {
            calls
                || same(match &settlement.verdict {
                    Verdict::Completed { writer } | Verdict::Failed { writer } => {
                        record.outcome(&head.key, writer).map(|outcome| outcome.response)
                    }
                    Verdict::Ended(reason) => Some(Response::from_end_reason(*reason)),
                })
        }
    };
    if !is_durable {
        violations.push(violation("I5", format!("{turn} was answered with what is not stored")));
    }
}

fn acknowledged_after_the_end(head: Option<&Turn>, turn: &TurnKey, violations: &mut Vec<Violation>) {
    if !head.is_some_and(|head| matches!(head.state, State::Finalized(_))) {
        let what = format!("the message about {} was acknowledged before it was terminal", turn.turn);
        violations.push(violation("I5", what));
    }
}

fn reported_after_settlement(
    head: Option<&Turn>,
    turn: &TurnKey,
    what: &str,
    violations: &mut Vec<Violation>,
) {
    if head.and_then(Turn::settlement).is_none() {
        violations.push(violation("I5", format!("{} was said to be {what} before it was", turn.turn)));
    }
}
