//! Outcome objects: store, find and load, and the transition that one calls for.

use std::time::Duration;

use agent::{
    attempt::RecoveryPoint,
    outcome::{Ending, Outcome, Response},
};
use bytes::Bytes;
use contracts::Fingerprint;
use protocol::{
    change::TurnChange,
    id::{AttemptId, TurnKey},
    payload::{Kind, Payload},
    transition::{
        IllegalTransition,
        settle::settle,
        suspend::{suspend, suspend_for_approval},
    },
    turn::{Stage, Turn, Verdict},
};

use crate::ports::{Deps, Host, MissingObject, PayloadReads, Payloads, Unavailable};

/// Stores an attempt's outcome object.
pub(crate) async fn store(
    payloads: &impl Payloads,
    turn: &Turn,
    outcome: &Outcome,
) -> Result<(), Unavailable> {
    let payload = Payload { turn: turn.key.clone(), kind: Kind::Outcome(turn.attempt.clone()) };
    payloads.put(&payload, Bytes::from(outcome.to_json())).await
}

/// Stores the answer of a settled turn as an object of its own, for a link to lead to. The answer comes from the
/// outcome object of the attempt in the key, so any number of readers store the same. Other payloads are ignored.
pub(crate) async fn store_answer(payloads: &impl Payloads, payload: &Payload) -> Result<(), Unavailable> {
    let Kind::Answer(writer) = &payload.kind else {
        return Ok(());
    };
    let outcome = load(payloads, &payload.turn, writer).await?;
    match outcome.response.answer_text() {
        Some(text) => payloads.put(payload, Bytes::from(text)).await,
        None => Ok(()),
    }
}

/// Finds the newest outcome object of the turn's attempts, if any is stored (rule 5).
///
/// Only valid after fencing: until then, a slow attempt may still write one.
pub(crate) async fn find(
    payloads: &impl PayloadReads,
    key: &TurnKey,
    stage: &Stage,
) -> Result<Option<(AttemptId, Outcome)>, Unavailable> {
    for writer in stage.attempts.iter().rev() {
        if let Some(outcome) = read(payloads, key, writer).await? {
            return Ok(Some((writer.clone(), outcome)));
        }
    }
    Ok(None)
}

/// Loads the response that belongs to a verdict.
pub(crate) async fn response(
    payloads: &impl PayloadReads,
    key: &TurnKey,
    verdict: &Verdict,
) -> Result<Response, Unavailable> {
    match verdict {
        Verdict::Completed { writer } | Verdict::Failed { writer } => {
            load(payloads, key, writer).await.map(|outcome| outcome.response)
        }
        Verdict::Ended(reason) => Ok(Response::from_end_reason(*reason)),
    }
}

/// Loads the outcome object of a writer that committed metadata names. It exists by I10.
pub(crate) async fn load(
    payloads: &impl PayloadReads,
    key: &TurnKey,
    writer: &AttemptId,
) -> Result<Outcome, Unavailable> {
    read(payloads, key, writer)
        .await?
        .ok_or_else(|| Unavailable { what: "the outcome object", source: MissingObject.into() })
}

async fn read(
    payloads: &impl PayloadReads,
    key: &TurnKey,
    writer: &AttemptId,
) -> Result<Option<Outcome>, Unavailable> {
    let payload = Payload { turn: key.clone(), kind: Kind::Outcome(writer.clone()) };
    let Some(bytes) = payloads.get(&payload).await? else {
        return Ok(None);
    };
    Outcome::from_json(&bytes).map(Some).map_err(|error| Unavailable::unreadable("the outcome object", error))
}

/// The time for which a turn waits beyond its last approval, until the turn queue or a repeated request continues it.
const APPROVAL_GRACE: Duration = Duration::from_secs(60 * 60);

/// Returns the transition that an outcome object calls for: settle or suspend.
pub(crate) fn transition_of(
    deps: &impl Deps,
    turn: &Turn,
    writer: AttemptId,
    outcome: &Outcome,
) -> Result<TurnChange, IllegalTransition> {
    let (now, timing) = (deps.host().now(), deps.timing());
    if let Some(verdict) = outcome.verdict(writer.clone()) {
        let is_kept = matches!(verdict, Verdict::Completed { .. }) && !turn.is_unstored;
        let answer = is_kept.then(|| outcome.response.answer_text()).flatten();
        let answer = answer.map(|text| Fingerprint::hash_words(&text));
        let received = outcome.report.received_at.unwrap_or(now);
        return Ok(settle(turn, verdict, received, now, timing)?.with_answer(answer));
    }
    let (seconds, expires) = match &outcome.ending {
        Ending::Suspended { recovery_point } => {
            let RecoveryPoint { spec, state } = &**recovery_point;
            let approvals = state.rounds.held_calls().filter_map(|call| call.approval.as_ref());
            let expires = approvals.map(|approval| approval.expires).max();
            let is_client_done = state.rounds.pending_calls().next().is_none();
            (spec.tools.deadline_seconds, expires.filter(|_| is_client_done))
        }
        Ending::Completed { .. } | Ending::Failed { .. } => (0, None),
    };
    match expires {
        Some(expires) => suspend_for_approval(turn, writer, expires, expires.after(APPROVAL_GRACE)),
        None => {
            let wait = Duration::from_secs(seconds).min(timing.max_tool_wait);
            suspend(turn, writer, now.after(wait))
        }
    }
}
