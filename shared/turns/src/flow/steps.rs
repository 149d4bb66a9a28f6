//! Recorded steps: where work goes on after a crash, and what is known of a turn that was ended from outside.

use agent::{outcome::Outcome, progress::Step, summary::summarize};
use contracts::{ToolContinuation, error::causes, json_bytes, response::ToolResult};
use futures::future::{join, try_join, try_join_all};
use protocol::{
    change::Left,
    detail::{Findings, Report},
    id::AttemptId,
    payload::{Kind, Payload},
    turn::{AcceptedResults, KnownBy, Recorded, Stage, State, Turn},
};

use super::{outcomes, partial};
use crate::ports::{PayloadReads, Reads, Unavailable};

/// How many recorded steps are looked for at once.
const STEPS_AT_ONCE: u32 = 8;

/// What is known of what came of a turn so far.
pub(super) struct Known {
    /// What tells of its work.
    pub(super) by: Option<By>,
    /// What there was of an answer when it was ended from outside.
    pub(super) partial: Option<String>,
}

/// What tells how far a turn's work had come, as its head names it.
pub(super) enum By {
    /// An outcome object.
    Outcome(Box<Outcome>),
    /// A recorded step.
    Step(Box<Step>),
}

impl Known {
    /// What a finalization needs of it.
    pub(super) fn findings(&self) -> Findings {
        let found = match &self.by {
            Some(By::Outcome(outcome)) => outcome.findings(),
            Some(By::Step(step)) => step.findings(),
            None => Findings::default(),
        };
        match self.partial.as_deref().map(summarize) {
            Some(partial) => {
                Findings { report: Report { partial_answer: Some(partial), ..found.report }, ..found }
            }
            None => found,
        }
    }

    /// The outcome object, where that is what tells.
    pub(super) fn outcome(&self) -> Option<&Outcome> {
        match self.by.as_ref()? {
            By::Outcome(outcome) => Some(outcome),
            By::Step(_) => None,
        }
    }
}

/// What is known of what came of a turn; nothing of one that was ended from outside before anything did.
/// Whoever asks is told the same, since the head names the objects, and where the stream's text ends.
pub(super) async fn known(
    store: &impl Reads,
    payloads: &impl PayloadReads,
    turn: &Turn,
) -> Result<Option<Known>, Unavailable> {
    let (by, partial) = try_join(named(payloads, turn), partial::text(store, payloads, turn)).await?;
    // Text that stands beside calls is told there.
    let is_told = |text: &String| matches!(&by, Some(By::Step(step)) if step.progress.has_said(text));
    let partial = partial.filter(|text| !is_told(text));
    Ok((by.is_some() || partial.is_some()).then_some(Known { by, partial }))
}

async fn named(payloads: &impl PayloadReads, turn: &Turn) -> Result<Option<By>, Unavailable> {
    let Some(by) = turn.known_by() else { return Ok(None) };
    Ok(match by {
        KnownBy::Outcome(writer) => {
            let outcome = outcomes::written_by(payloads, &turn.key, writer).await?;
            Some(By::Outcome(Box::new(outcome)))
        }
        KnownBy::Results(accepted) => {
            answered(payloads, turn, accepted).await?.map(|step| By::Step(Box::new(step)))
        }
        KnownBy::Step(recorded) => {
            let step = step(payloads, turn, &recorded.by, recorded.step).await?;
            step.map(|step| By::Step(Box::new(step)))
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

/// What is kept of a running turn's work, for the head that ends it to name. What can't be read holds up no end.
pub(super) async fn left(store: &impl Reads, payloads: &impl PayloadReads, turn: &Turn) -> Left {
    let (recorded, shown) = join(last_recorded(payloads, turn), partial::shown(store, turn)).await;
    Left { recorded, shown }
}

async fn last_recorded(payloads: &impl PayloadReads, turn: &Turn) -> Option<Recorded> {
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

/// A recorded step.
pub(super) async fn step(
    payloads: &impl PayloadReads,
    turn: &Turn,
    writer: &AttemptId,
    number: u32,
) -> Result<Option<Step>, Unavailable> {
    let payload = Payload { turn: turn.key.clone(), kind: Kind::Step(writer.clone(), number) };
    let stored = payloads.get(&payload).await?;
    // A step that can't be read is done without: its tools run again.
    Ok(stored.and_then(|bytes| json_bytes::read(&bytes).ok()))
}

/// The step of the turn's last suspension, with the results that it got.
pub(super) async fn resumed(payloads: &impl PayloadReads, turn: &Turn) -> Result<Option<Step>, Unavailable> {
    match &turn.accepted {
        Some(accepted) => answered(payloads, turn, accepted).await,
        None => Ok(None),
    }
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
