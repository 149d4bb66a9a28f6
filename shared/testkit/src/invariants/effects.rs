//! E1 to E5: an effect is sent at most once, and its outcome is known or said to be unknown.
//!
//! The target counts what it performs. Of each turn that is over, results ≤ effects ≤ results + unknown.

use std::collections::{BTreeMap, BTreeSet};

use agent::{outcome::Ending, tool::remote::RemoteOutcome};
use contracts::Fingerprint;
use protocol::{
    effect::Intent,
    id::{SessionKey, TurnKey},
    payload::Kind,
    turn::State,
};

use super::{RunRecord, Violation, violation};
use crate::ledger::{Event, PerformedCall};

pub(super) fn check(record: &RunRecord<'_>, violations: &mut Vec<Violation>) {
    let mut intents: Vec<&Intent> = Vec::new();
    let mut unknown: BTreeSet<(&SessionKey, Fingerprint)> = BTreeSet::new();
    let mut performed: Vec<(&TurnKey, &PerformedCall)> = Vec::new();
    for entry in record.entries {
        match &entry.event {
            Event::Intended(intent) => {
                let is_refused = |hash| unknown.contains(&(&intent.turn.session, hash));
                if intent.hashes().into_iter().any(is_refused) {
                    let what = format!("{} repeats a call with an unknown outcome", intent.turn.turn);
                    violations.push(violation("E4", what));
                }
                intents.push(intent);
            }
            Event::Unknown(effect) => {
                unknown.insert((&effect.turn.session, effect.call.hash));
            }
            Event::Performed { turn, call } if call.class.has_intent() => performed.push((turn, call)),
            _ => {}
        }
    }
    sent_once(&performed, violations);
    for (turn, call) in &performed {
        accounted_for(record, turn, call, &intents, &unknown, violations);
        answer_knows(record, turn, call, violations);
    }
    results_are_real(record, &intents, &performed, violations);
}

/// Checks E1: no call is performed twice. Calls with the same argument are, on purpose.
fn sent_once(performed: &[(&TurnKey, &PerformedCall)], violations: &mut Vec<Violation>) {
    let mut counts: BTreeMap<(&TurnKey, &str, &str), usize> = BTreeMap::new();
    for (turn, call) in performed {
        let key = if call.order == "same" { call.key.as_str() } else { "" };
        *counts.entry((*turn, call.order.as_str(), key)).or_default() += 1;
    }
    for ((turn, order, _), count) in counts.into_iter().filter(|(_, count)| *count > 1) {
        let what = format!("call {order} of {} was performed {count} times", turn.turn);
        violations.push(violation("E1", what));
    }
}

/// Checks E1 and E5: a call that was performed has an intent, and ended as a result or as unknown.
fn accounted_for(
    record: &RunRecord<'_>,
    turn: &TurnKey,
    call: &PerformedCall,
    intents: &[&Intent],
    unknown: &BTreeSet<(&SessionKey, Fingerprint)>,
    violations: &mut Vec<Violation>,
) {
    let found = intents.iter().filter(|intent| intent.turn == *turn).find_map(|intent| {
        let intended = intent.calls.iter().find(|intended| call.key.starts_with(&intended.key))?;
        Some((*intent, intended))
    });
    let Some((intent, intended)) = found else {
        violations.push(violation("E1", format!("call {} of {} has no intent", call.order, turn.turn)));
        return;
    };
    let head = record.table.heads.get(turn);
    let is_over = head.is_some_and(|head| matches!(head.state, State::Finalized(_)));
    if !is_over || record.is_purged(&turn.session) {
        return;
    }
    let is_known = has_result(record, intent, intended.index);
    if !is_known && !unknown.contains(&(&turn.session, intended.hash)) {
        let what = format!("call {} of {} was performed, and nobody knows", call.order, turn.turn);
        violations.push(violation("E5", what));
    }
}

/// True if a result of the call says that it was performed.
fn has_result(record: &RunRecord<'_>, intent: &Intent, index: u32) -> bool {
    record.objects.iter().any(|(payload, stored)| {
        let is_result = matches!(
            &payload.kind,
            Kind::EffectResult(_, round, at) if *round == intent.round && *at == index
        );
        is_result
            && payload.turn == intent.turn
            && matches!(RemoteOutcome::from_json(stored), Ok(RemoteOutcome::Done(_)))
    })
}

/// Checks E2: the answer of a turn includes every call that it sent.
fn answer_knows(
    record: &RunRecord<'_>,
    turn: &TurnKey,
    call: &PerformedCall,
    violations: &mut Vec<Violation>,
) {
    let verdict = record.table.heads.get(turn).and_then(|head| Some(&head.settlement()?.verdict));
    let outcome = verdict.and_then(|verdict| record.outcome(turn, verdict.writer()?));
    let Some(outcome) = outcome else { return };
    let (Ending::Completed { tool_rounds, .. } | Ending::Failed { tool_rounds, .. }) = &outcome.ending else {
        return;
    };
    let argument = format!("\"{}\"", call.order);
    let mut calls = tool_rounds.iter().flat_map(|round| &round.calls);
    if !calls.any(|record| record.arguments.contains(&argument)) {
        let what = format!("the answer of {} doesn't know of call {}", turn.turn, call.order);
        violations.push(violation("E2", what));
    }
}

/// Checks that a result is of a call that was performed.
fn results_are_real(
    record: &RunRecord<'_>,
    intents: &[&Intent],
    performed: &[(&TurnKey, &PerformedCall)],
    violations: &mut Vec<Violation>,
) {
    for intent in intents {
        for intended in &intent.calls {
            let is_performed = performed
                .iter()
                .any(|(turn, call)| **turn == intent.turn && call.key.starts_with(&intended.key));
            if has_result(record, intent, intended.index) && !is_performed {
                let what = format!("{} has a result of a call that was not performed", intent.turn.turn);
                violations.push(violation("E5", what));
            }
        }
    }
}
