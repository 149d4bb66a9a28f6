//! I4, I5: what was durable counts, and only what was durable is told.

use agent::outcome::Ending;
use std::collections::{BTreeMap, BTreeSet};

use agent::outcome::{Outcome, Response};
use protocol::{
    id::{AttemptId, TurnKey},
    payload::{self, Payload},
    turn::{Reason, State, Turn, Verdict},
};

use super::{Evidence, Violation, violation};
use crate::ledger::Event;

pub(super) fn check(evidence: &Evidence<'_>, found: &mut Vec<Violation>) {
    let mut heads: BTreeMap<&TurnKey, &Turn> = BTreeMap::new();
    let mut calls: BTreeSet<(&TurnKey, Vec<u8>)> = BTreeSet::new();
    for entry in evidence.entries {
        match &entry.event {
            Event::Head { after, .. } => {
                heads.insert(&after.key, after);
            }
            Event::Stored { payload, body } => {
                calls.extend(suspension(payload, body).map(|calls| (&payload.turn, calls)));
                if let Some(writer) = by_its_owner(payload, &heads) {
                    kept(evidence, &payload.turn, writer, found);
                }
            }
            Event::Answered { turn, request, body } => match heads.get(turn) {
                Some(head) if head.fingerprint != *request => {
                    found.push(violation("I9", format!("{} answered another request", turn.turn)));
                }
                Some(head) => durable(evidence, head, body, &calls, found),
                None => found.push(violation("I5", format!("{} was answered unstarted", turn.turn))),
            },
            Event::Continued { turn, body, .. } => match heads.get(turn) {
                Some(head) => durable(evidence, head, body, &calls, found),
                None => found.push(violation("I5", format!("{} was continued unstarted", turn.turn))),
            },
            Event::CancelTold(turn) => told(heads.get(turn).copied(), turn, "cancelled", found),
            Event::FinalizeTold(turn) => acknowledged_after_the_end(heads.get(turn).copied(), turn, found),
            _ => {}
        }
    }
}

/// The writer of an outcome object, if it owned its running turn at that instant.
fn by_its_owner<'a>(payload: &'a Payload, heads: &BTreeMap<&TurnKey, &Turn>) -> Option<&'a AttemptId> {
    let payload::Kind::Outcome(writer) = &payload.kind else {
        return None;
    };
    let head = heads.get(&payload.turn)?;
    (matches!(head.state, State::Running { .. }) && head.attempt == *writer).then_some(writer)
}

/// I4: the turn ends with it.
fn kept(evidence: &Evidence<'_>, turn: &TurnKey, writer: &AttemptId, found: &mut Vec<Violation>) {
    let Some(head) = evidence.table.heads.get(turn) else {
        return;
    };
    let suspends = evidence
        .outcome(turn, writer)
        .is_some_and(|outcome| matches!(outcome.ending, Ending::Suspended { .. }));
    let ends_well = match (&head.state, head.settlement().map(|settlement| &settlement.verdict)) {
        (_, Some(Verdict::Completed { writer: by } | Verdict::Failed { writer: by })) => {
            by == writer || suspends
        }
        (_, Some(Verdict::Ended(Reason::Cancelled))) => true,
        // Its calls were answered: what became of the turn since is another attempt's matter.
        _ if suspends && was_answered(evidence, turn, writer) => true,
        (_, Some(Verdict::Ended(Reason::Superseded | Reason::ToolDeadline))) => suspends,
        // Its writer was never told that it is durable, and the store was gone until its time was over.
        (_, Some(Verdict::Ended(Reason::StorageUnavailable))) => !acknowledged(evidence, turn, writer),
        (_, Some(Verdict::Ended(Reason::Abandoned))) => false,
        (State::AwaitingTools { .. }, None) => suspends,
        // Not decided yet: nothing is lost.
        (_, None) => true,
    };
    if !ends_well {
        found.push(violation("I4", format!("{}'s durable answer by {writer} was lost", turn.turn)));
    }
}

/// Whether results for the calls of this writer's outcome object were accepted.
fn was_answered(evidence: &Evidence<'_>, turn: &TurnKey, writer: &AttemptId) -> bool {
    evidence.heads().any(|(_, _, _, head)| {
        head.key == *turn && head.accepted.as_ref().is_some_and(|accepted| accepted.suspended_by == *writer)
    })
}

fn acknowledged(evidence: &Evidence<'_>, turn: &TurnKey, writer: &AttemptId) -> bool {
    let payload = Payload { turn: turn.clone(), kind: payload::Kind::Outcome(writer.clone()) };
    let told = |event: &Event| matches!(event, Event::StoreAcknowledged(told) if *told == payload);
    evidence.entries.iter().any(|entry| told(&entry.event))
}

/// What the client is told of a suspension.
fn suspension(payload: &Payload, stored: &[u8]) -> Option<Vec<u8>> {
    let payload::Kind::Outcome(_) = payload.kind else { return None };
    let outcome = Outcome::from_json(stored).ok()?;
    (matches!(outcome.ending, Ending::Suspended { .. })).then(|| outcome.response.to_bytes())
}

/// I5: at the instant of the answer the store says the same, and it can't say anything else later.
///
/// `calls` are the bodies of all suspensions that were stored by now.
fn durable(
    evidence: &Evidence<'_>,
    head: &Turn,
    body: &[u8],
    calls: &BTreeSet<(&TurnKey, Vec<u8>)>,
    found: &mut Vec<Violation>,
) {
    let turn = &head.key.turn;
    let same = |stored: Option<Response>| stored.is_some_and(|response| response.to_bytes() == body);
    // Tool calls stay a true answer for the round they belong to, whatever the turn comes to later.
    let calls = calls.iter().any(|(of, calls)| **of == head.key && calls == body);
    let stands = match &head.state {
        // The calls of a round that was answered since.
        State::Running { .. } | State::AwaitingTools { .. } => calls,
        State::Settled(settlement) | State::Finalized(settlement) => {
            calls
                || same(match &settlement.verdict {
                    Verdict::Completed { writer } | Verdict::Failed { writer } => {
                        evidence.outcome(&head.key, writer).map(|outcome| outcome.response)
                    }
                    Verdict::Ended(reason) => Some(Response::ended(*reason)),
                })
        }
    };
    if !stands {
        found.push(violation("I5", format!("{turn} was answered with what is not stored")));
    }
}

fn acknowledged_after_the_end(head: Option<&Turn>, turn: &TurnKey, found: &mut Vec<Violation>) {
    if !head.is_some_and(|head| matches!(head.state, State::Finalized(_))) {
        let what = format!("the message about {} was acknowledged before it was terminal", turn.turn);
        found.push(violation("I5", what));
    }
}

fn told(head: Option<&Turn>, turn: &TurnKey, what: &str, found: &mut Vec<Violation>) {
    if head.and_then(Turn::settlement).is_none() {
        found.push(violation("I5", format!("{} was said to be {what} before it was", turn.turn)));
    }
}
