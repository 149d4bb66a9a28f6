//! I6: tool results match exactly or nothing happens, and no call that the model made stays unanswered.

use std::collections::{BTreeMap, BTreeSet};

use agent::{
    model::{FunctionCall, ToolOutput},
    outcome::{Outcome, Response},
};
use contracts::{Fingerprint, ToolContinuation, response::ToolOutcome};
use protocol::{
    id::{AttemptId, TurnKey},
    payload::{Kind, Payload},
    turn::{AcceptedResults, Reason},
};

use super::{Evidence, Violation, violation};
use crate::{ledger::Event, model::is_clients};

pub(super) fn check(evidence: &Evidence<'_>, found: &mut Vec<Violation>) {
    let mut accepted: BTreeSet<(&TurnKey, Fingerprint)> = BTreeSet::new();
    let rounds = rounds(evidence);
    for entry in evidence.entries {
        match &entry.event {
            Event::Head { before, after } => {
                let Some(answered) = &after.accepted else { continue };
                if before.as_ref().and_then(|before| before.accepted.as_ref()) != Some(answered) {
                    accepted.insert((&after.key, answered.results));
                    exact(evidence, &after.key, answered, &rounds, found);
                }
            }
            Event::Stored { payload: Payload { turn, kind: Kind::ToolResults(_) }, body } => {
                answers_some_round(turn, body, &rounds, found);
            }
            Event::Chained { turn, calls, outputs } => no_orphan(turn, calls, outputs, found),
            Event::Continued { turn, results, body }
                if !accepted.contains(&(turn, *results)) && !is_an_end(body) =>
            {
                found.push(violation("I6", format!("{} was continued by refused results", turn.turn)));
            }
            _ => {}
        }
    }
}

/// The ids of the calls that each suspension waits for.
type Rounds<'a> = BTreeMap<(&'a TurnKey, AttemptId), Vec<String>>;

fn rounds<'a>(evidence: &'a Evidence<'_>) -> Rounds<'a> {
    let round = |(payload, stored): (&'a Payload, _)| {
        let Kind::Outcome(writer) = &payload.kind else { return None };
        let step = Outcome::from_json(stored).ok()?.into_step()?;
        let ids = step.progress.pending().map(|call| call.call_id.clone()).collect();
        Some(((&payload.turn, writer.clone()), ids))
    };
    evidence.objects.iter().filter_map(|(payload, stored)| round((payload, stored.as_ref()))).collect()
}

/// What a head says was accepted answers the calls of the suspension that it names, and is what is stored.
fn exact(
    evidence: &Evidence<'_>,
    turn: &TurnKey,
    answered: &AcceptedResults,
    rounds: &Rounds<'_>,
    found: &mut Vec<Violation>,
) {
    let stored = evidence.object(turn, Kind::ToolResults(answered.resumed_by.clone()));
    let results = stored.and_then(|body| ToolContinuation::from_canonical(body).ok());
    let same = results.as_ref().is_some_and(|results| results.fingerprint() == answered.results);
    let round = (evidence.key)(&outcome_of(turn, answered));
    let calls = match &round.kind {
        Kind::Outcome(writer) => rounds.get(&(turn, writer.clone())),
        _ => None,
    };
    if !same || results.as_ref().map(ids).as_ref() != calls {
        found.push(violation("I6", format!("{} went on with results of other calls", turn.turn)));
    }
}

fn outcome_of(turn: &TurnKey, answered: &AcceptedResults) -> Payload {
    Payload { turn: turn.clone(), kind: Kind::Outcome(answered.suspended_by.clone()) }
}

/// Nothing is stored of results that are refused: those that are answer a suspension, even if another
/// list was faster.
fn answers_some_round(turn: &TurnKey, body: &[u8], rounds: &Rounds<'_>, found: &mut Vec<Violation>) {
    let ids = ToolContinuation::from_canonical(body).ok().as_ref().map(ids);
    if !rounds.iter().any(|((of, _), round)| *of == turn && ids.as_ref() == Some(round)) {
        found.push(violation("I6", format!("results that answer no round of {} were stored", turn.turn)));
    }
}

/// One output per call, in the calls' order, and each the output of its own call.
fn no_orphan(turn: &TurnKey, calls: &[FunctionCall], outputs: &[ToolOutput], found: &mut Vec<Violation>) {
    if !calls.iter().eq(outputs.iter().map(|output| &output.call)) {
        let what = format!("{} calls met {} outputs in {}", calls.len(), outputs.len(), turn.turn);
        found.push(violation("I6", what));
    }
    // Clients of this kit write the call's id into its result.
    let of_another = |output: &&ToolOutput| {
        let (ToolOutcome::ResultJson(text) | ToolOutcome::ErrorMessage(text)) = &output.outcome;
        is_clients(&output.call) && !text.contains(&output.call.call_id)
    };
    if let Some(output) = outputs.iter().find(of_another) {
        let what = format!("{} of {} got another call's result", output.call.call_id, turn.turn);
        found.push(violation("I6", what));
    }
}

fn ids(results: &ToolContinuation) -> Vec<String> {
    results.tool_results.iter().map(|result| result.tool_call_id.clone()).collect()
}

/// Whether a body says that its turn was ended from outside: anybody may hear that.
fn is_an_end(body: &[u8]) -> bool {
    [
        Reason::Cancelled,
        Reason::Abandoned,
        Reason::Superseded,
        Reason::ToolDeadline,
        Reason::StorageUnavailable,
    ]
    .into_iter()
    .any(|reason| Response::ended(reason).to_bytes() == body)
}
