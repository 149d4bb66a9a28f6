//! Recorded steps: where work goes on after a crash, and what is known of a turn that was ended from outside.

use agent::{outcome::Outcome, progress::Step};
use contracts::{ToolContinuation, error::causes, response::ToolResult};
use futures::future::{try_join, try_join_all};
use protocol::{
    detail::Findings,
    id::AttemptId,
    payload::{Kind, Payload},
    turn::{AcceptedResults, KnownBy, Recorded, Stage, State, Turn},
};

use super::outcomes;
use crate::ports::{PayloadReads, Unavailable};

/// How many recorded steps are looked for at once.
const STEPS_AT_ONCE: u32 = 8;

/// What came of a turn so far, as the objects tell it that its head names.
pub(super) enum Known {
    /// An outcome object.
    Outcome(Box<Outcome>),
    /// How far its work had come.
    Step(Box<Step>),
}

impl Known {
    /// What a finalization needs of it.
    pub(super) fn findings(&self) -> Findings {
        match self {
            Self::Outcome(outcome) => outcome.findings(),
            Self::Step(step) => step.findings(),
        }
    }

    /// The outcome object, where that is what tells.
    pub(super) fn outcome(&self) -> Option<&Outcome> {
        match self {
            Self::Outcome(outcome) => Some(outcome),
            Self::Step(_) => None,
        }
    }
}

/// What is known of what came of a turn; nothing of one that was ended from outside before anything did.
/// Whoever asks is told the same, since the head names the objects.
pub(super) async fn known(payloads: &impl PayloadReads, turn: &Turn) -> Result<Option<Known>, Unavailable> {
    let Some(by) = turn.known_by() else { return Ok(None) };
    Ok(match by {
        KnownBy::Outcome(writer) => {
            let outcome = outcomes::written_by(payloads, &turn.key, writer).await?;
            Some(Known::Outcome(Box::new(outcome)))
        }
        KnownBy::Results(accepted) => {
            answered(payloads, turn, accepted).await?.map(|step| Known::Step(Box::new(step)))
        }
        KnownBy::Step(recorded) => {
            let step = step(payloads, turn, &recorded.by, recorded.step).await?;
            step.map(|step| Known::Step(Box::new(step)))
        }
    })
}

/// A step to go on from.
pub(super) struct Found {
    /// Where it is recorded; none of one that is a suspension's, with the results that it got.
    pub(super) recorded: Option<Recorded>,
    /// How far the work had come.
    pub(super) step: Step,
}

/// The last step that was recorded of a running turn's work, for the head that ends it to name. A bucket that
/// can't be read holds up no end.
pub(super) async fn last_recorded(payloads: &impl PayloadReads, turn: &Turn) -> Option<Recorded> {
    match last(payloads, turn).await {
        Ok(found) => found.and_then(|found| found.recorded),
        Err(error) => {
            tracing::warn!(error = %causes(&error), "how far an ended turn had come can't be read");
            None
        }
    }
}

/// How far the work of a running turn came; none where it begins with the user's request.
///
/// A slow attempt may still write until it is fenced: only the turn's owner can rely on it that no more comes.
pub(super) async fn last(payloads: &impl PayloadReads, turn: &Turn) -> Result<Option<Found>, Unavailable> {
    let State::Running { stage, .. } = &turn.state else { return Ok(None) };
    let begun = match &turn.accepted {
        Some(accepted) => answered(payloads, turn, accepted).await?,
        None => None,
    };
    let began = begun.as_ref().map_or(0, |step| step.progress.steps());
    let found = furthest(payloads, turn, stage, began).await?;
    Ok(found.or(begun.map(|step| Found { recorded: None, step })))
}

/// The furthest recorded step of the newest attempt that recorded any.
async fn furthest(
    payloads: &impl PayloadReads,
    turn: &Turn,
    stage: &Stage,
    began: u32,
) -> Result<Option<Found>, Unavailable> {
    for writer in stage.attempts.iter().rev() {
        let mut last = None;
        let mut from = began + 1;
        loop {
            let steps = (from..from + STEPS_AT_ONCE).map(|number| step(payloads, turn, writer, number));
            let found = try_join_all(steps).await?.into_iter().flatten().last();
            if found.is_none() {
                break;
            }
            last = found;
            from += STEPS_AT_ONCE;
        }
        if let Some(step) = last {
            let recorded = Recorded { by: writer.clone(), step: step.progress.steps() };
            return Ok(Some(Found { recorded: Some(recorded), step }));
        }
    }
    Ok(None)
}

async fn step(
    payloads: &impl PayloadReads,
    turn: &Turn,
    writer: &AttemptId,
    number: u32,
) -> Result<Option<Step>, Unavailable> {
    let payload = Payload { turn: turn.key.clone(), kind: Kind::Step(writer.clone(), number) };
    let stored = payloads.get(&payload).await?;
    // A step that can't be read is done without: its tools run again.
    Ok(stored.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

/// The step of a suspension, with the results that it got.
async fn answered(
    payloads: &impl PayloadReads,
    turn: &Turn,
    accepted: &AcceptedResults,
) -> Result<Option<Step>, Unavailable> {
    let suspended = outcomes::written_by(payloads, &turn.key, &accepted.suspended_by);
    let results = tool_results(payloads, turn, &accepted.resumed_by);
    let (suspended, results) = try_join(suspended, results).await?;
    let filled = |step: Step| Step { progress: step.progress.answered(&results, accepted.results), ..step };
    Ok(suspended.into_step().map(filled))
}

async fn tool_results(
    payloads: &impl PayloadReads,
    turn: &Turn,
    resumed_by: &AttemptId,
) -> Result<Vec<ToolResult>, Unavailable> {
    let payload = Payload { turn: turn.key.clone(), kind: Kind::ToolResults(resumed_by.clone()) };
    let missing = |source| Unavailable { what: "the tool results", source };
    let stored = payloads.get(&payload).await?.ok_or_else(|| missing("they are not there".into()))?;
    let results =
        ToolContinuation::from_canonical(&stored).map_err(|_| missing("they can't be read".into()))?;
    Ok(results.tool_results.into_vec())
}
