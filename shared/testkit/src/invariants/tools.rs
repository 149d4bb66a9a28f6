//! I6: tool results match exactly or nothing happens, and no model call stays unanswered.

use std::collections::{BTreeMap, BTreeSet};

use agent::{
    model::{FunctionCall, ToolOutput},
    outcome::{Outcome, Response},
};
use contracts::{Fingerprint, ToolContinuation, response::ToolOutcome};
use protocol::{
    id::{AttemptId, TurnKey},
    payload::{Kind, Payload},
    turn::{AcceptedResults, EndReason},
};

use super::{RunRecord, Violation, violation};
use crate::{ledger::Event, model::is_clients};

pub(super) fn check(record: &RunRecord<'_>, violations: &mut Vec<Violation>) {
    let mut accepted: BTreeSet<(&TurnKey, Fingerprint)> = BTreeSet::new();
    let rounds = rounds(record);
    for entry in record.entries {
        match &entry.event {
            Event::Head { before, after } => {
                let Some(answered) = &after.accepted_results else { continue };
                if before.as_ref().and_then(|before| before.accepted_results.as_ref()) != Some(answered) {
                    accepted.insert((&after.key, answered.results));
                    exact(record, &after.key, answered, &rounds, violations);
                }
            }
            // An import that was cut off may have stored only some objects.
            Event::Stored { payload: Payload { turn, kind: Kind::ToolResults(_) }, body }
                if !record.is_purged(&turn.session) =>
            {
                answers_some_round(turn, body, &rounds, violations);
            }
            Event::Chained { turn, calls, outputs } => no_orphan(turn, calls, outputs, violations),
            Event::Continued { turn, results, body }
                if !accepted.contains(&(turn, *results)) && !is_an_end(body) =>
            {
                violations.push(violation("I6", format!("{} was continued by refused results", turn.turn)));
            }
            _ => {}
        }
    }
}

/// The ids of the calls that each suspension waits for.
type Rounds<'a> = BTreeMap<(&'a TurnKey, AttemptId), Vec<String>>;

fn rounds<'a>(record: &'a RunRecord<'_>) -> Rounds<'a> {
    let round = |(payload, stored): (&'a Payload, _)| {
        let Kind::Outcome(writer) = &payload.kind else { return None };
        let step = Outcome::from_json(stored).ok()?.into_recovery_point()?;
        let ids = step.state.rounds.pending_calls().map(|call| call.call_id.clone()).collect();
        Some(((&payload.turn, writer.clone()), ids))
    };
    record.objects.iter().filter_map(|(payload, stored)| round((payload, stored.as_ref()))).collect()
}

/// Checks that accepted results answer the calls of the suspension that the head names, and are stored.
fn exact(
    record: &RunRecord<'_>,
    turn: &TurnKey,
    answered: &AcceptedResults,
    rounds: &Rounds<'_>,
    violations: &mut Vec<Violation>,
) {
    let stored = record.object(turn, Kind::ToolResults(answered.resumed_by.clone()));
    let results = stored.and_then(|body| ToolContinuation::from_canonical(body).ok());
    let same = results.as_ref().is_some_and(|results| results.fingerprint() == answered.results);
    let round = (record.key)(&outcome_of(turn, answered));
    let calls = match &round.kind {
        Kind::Outcome(writer) => rounds.get(&(turn, writer.clone())),
        _ => None,
    };
    if !same || results.as_ref().map(ids).as_ref() != calls {
        violations.push(violation("I6", format!("{} went on with results of other calls", turn.turn)));
    }
}

fn outcome_of(turn: &TurnKey, answered: &AcceptedResults) -> Payload {
    Payload { turn: turn.clone(), kind: Kind::Outcome(answered.suspended_by.clone()) }
}

/// Checks that rejected results aren't stored. Stored ones answer a suspension, even if another list won.
fn answers_some_round(turn: &TurnKey, body: &[u8], rounds: &Rounds<'_>, violations: &mut Vec<Violation>) {
    let ids = ToolContinuation::from_canonical(body).ok().as_ref().map(ids);
    if !rounds.iter().any(|((of, _), round)| *of == turn && ids.as_ref() == Some(round)) {
        violations
            .push(violation("I6", format!("results that answer no round of {} were stored", turn.turn)));
    }
}

/// Checks that every call has one output, in order, and that it is the call's own.
fn no_orphan(
    turn: &TurnKey,
    calls: &[FunctionCall],
    outputs: &[ToolOutput],
    violations: &mut Vec<Violation>,
) {
    if !calls.iter().eq(outputs.iter().map(|output| &output.call)) {
        let what = format!("{} calls met {} outputs in {}", calls.len(), outputs.len(), turn.turn);
        violations.push(violation("I6", what));
    }
    // Clients of this crate put the call's path into its result.
    let of_another = |output: &&ToolOutput| {
        let (ToolOutcome::ResultJson(text) | ToolOutcome::ErrorMessage(text)) = &output.outcome;
        let arguments: serde_json::Value = serde_json::from_str(&output.call.arguments).unwrap_or_default();
        is_clients(&output.call) && arguments["path"].as_str().is_some_and(|path| !text.contains(path))
    };
    if let Some(output) = outputs.iter().find(of_another) {
        let what = format!("{} of {} got another call's result", output.call.call_id, turn.turn);
        violations.push(violation("I6", what));
    }
}

fn ids(results: &ToolContinuation) -> Vec<String> {
    results.tool_results.iter().map(|result| result.tool_call_id.clone()).collect()
}

/// Returns true if a response reports that the turn was ended from outside, which any client may receive.
fn is_an_end(body: &[u8]) -> bool {
    [
        EndReason::Cancelled,
        EndReason::Abandoned,
        EndReason::Superseded,
        EndReason::ToolDeadline,
        EndReason::StorageUnavailable,
    ]
    .into_iter()
    .any(|reason| Response::from_end_reason(reason).to_bytes() == body)
}
