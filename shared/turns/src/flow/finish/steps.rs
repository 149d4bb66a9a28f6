//! Recorded steps of a turn: find and load.

use agent::attempt::RecoveryPoint;
use contracts::{ToolContinuation, json_bytes};
use futures::future::{try_join, try_join_all};
use protocol::{
    id::AttemptId,
    payload::{Kind, Payload},
    turn::{AcceptedResults, State, StepRef, Turn},
};

use crate::flow::finish::outcomes;
use crate::ports::{MissingObject, PayloadReads, Unavailable};

/// The number of recorded steps to look for at a time.
const STEPS_BATCH: u32 = 8;

/// The latest step of a running turn, to continue from.
pub(crate) struct LatestStep {
    /// Its record; none for the step of a suspension, completed with the tool results.
    pub(crate) recorded: Option<StepRef>,
    /// The recovered step.
    pub(crate) step: RecoveryPoint,
}

/// Finds the latest step of a running turn; none if it has to start with the user's request.
///
/// A slow attempt may still write until it is fenced, so the result is final only for the turn's owner.
pub(crate) async fn latest(
    payloads: &impl PayloadReads,
    turn: &Turn,
) -> Result<Option<LatestStep>, Unavailable> {
    let State::Running { stage, .. } = &turn.state else { return Ok(None) };
    latest_of(payloads, turn, &stage.attempts).await
}

/// Finds the latest step of a running turn among those of its suspensions and of these attempts.
pub(crate) async fn latest_of(
    payloads: &impl PayloadReads,
    turn: &Turn,
    attempts: &[AttemptId],
) -> Result<Option<LatestStep>, Unavailable> {
    let resumed = match &turn.accepted_results {
        Some(accepted) => with_results(payloads, turn, accepted).await?,
        None => None,
    };
    // The step of a round whose calls waited for approvals is recorded once they have results.
    let already_done = resumed.as_ref().map_or(0, |step| step.state.finished_recovery_points());
    let furthest = furthest_recorded(payloads, turn, attempts, already_done).await?;
    Ok(furthest.or(resumed.map(|step| LatestStep { recorded: None, step })))
}

/// Finds the furthest step of the newest attempt that recorded any.
async fn furthest_recorded(
    payloads: &impl PayloadReads,
    turn: &Turn,
    attempts: &[AttemptId],
    already_done: u32,
) -> Result<Option<LatestStep>, Unavailable> {
    for writer in attempts.iter().rev() {
        let mut last = None;
        let mut from = already_done + 1;
        loop {
            let steps = (from..from + STEPS_BATCH).map(|number| recorded(payloads, turn, writer, number));
            let newest = try_join_all(steps).await?.into_iter().flatten().last();
            if newest.is_none() {
                break;
            }
            last = newest;
            from += STEPS_BATCH;
        }
        if let Some(step) = last {
            let recorded = StepRef { attempt: writer.clone(), step: step.state.recovery_points() };
            return Ok(Some(LatestStep { recorded: Some(recorded), step }));
        }
    }
    Ok(None)
}

/// Loads a recorded step.
pub(crate) async fn recorded(
    payloads: &impl PayloadReads,
    turn: &Turn,
    writer: &AttemptId,
    number: u32,
) -> Result<Option<RecoveryPoint>, Unavailable> {
    let payload = Payload { turn: turn.key.clone(), kind: Kind::Step(writer.clone(), number) };
    let stored = payloads.get(&payload).await?;
    // The work continues without a step that can't be read: its tools run again.
    Ok(stored.and_then(|bytes| json_bytes::from_slice(&bytes).ok()))
}

/// Loads the step of the turn's last suspension, completed with its tool results.
pub(crate) async fn resumed(
    payloads: &impl PayloadReads,
    turn: &Turn,
) -> Result<Option<RecoveryPoint>, Unavailable> {
    match &turn.accepted_results {
        Some(accepted) => with_results(payloads, turn, accepted).await,
        None => Ok(None),
    }
}

/// Loads the step of a suspension, completed with its tool results.
pub(super) async fn with_results(
    payloads: &impl PayloadReads,
    turn: &Turn,
    accepted: &AcceptedResults,
) -> Result<Option<RecoveryPoint>, Unavailable> {
    let suspended = outcomes::load(payloads, &turn.key, &accepted.suspended_by);
    let results = tool_results(payloads, turn, &accepted.resumed_by);
    let (suspended, results) = try_join(suspended, results).await?;
    let filled = |step: RecoveryPoint| RecoveryPoint {
        state: match &results {
            Some(results) => step.state.with_tool_results(results, accepted.results),
            None => step.state.with_answered_approvals(accepted.results),
        },
        ..step
    };
    Ok(suspended.into_recovery_point().map(filled))
}

/// The object in place of tool results if answers to approvals resumed a turn. The answers themselves are in the table.
pub(crate) const APPROVALS_ANSWERED: &[u8] = br#"{"Approvals":"answered"}"#;

/// Loads the tool results that resumed a turn. `None` if answers to approvals did.
async fn tool_results(
    payloads: &impl PayloadReads,
    turn: &Turn,
    resumed_by: &AttemptId,
) -> Result<Option<ToolContinuation>, Unavailable> {
    let payload = Payload { turn: turn.key.clone(), kind: Kind::ToolResults(resumed_by.clone()) };
    let missing = |source| Unavailable { what: "the tool results", source };
    let stored = payloads.get(&payload).await?.ok_or_else(|| missing(MissingObject.into()))?;
    if stored == APPROVALS_ANSWERED {
        return Ok(None);
    }
    ToolContinuation::from_canonical(&stored).map(Some).map_err(|_| missing("they can't be read".into()))
}
