//! Evidence of a turn's work, from its outcome objects and recorded steps. A takeover continues from it, and a turn
//! that was ended from outside is reported from it.

use agent::{attempt::RecoveryPoint, outcome::Outcome, text::excerpt::excerpt_of};
use contracts::{ToolContinuation, error::causes, json_bytes, response::ToolResult};
use futures::future::{join, try_join, try_join_all};
use protocol::{
    change::PartialWork,
    detail::{OutcomeSummary, Report},
    id::AttemptId,
    payload::{Kind, Payload},
    turn::{AcceptedResults, EvidenceSource, Stage, State, StepRef, Turn},
};

use crate::flow::finish::{outcomes, partial_answer};
use crate::ports::{PayloadReads, Reads, Unavailable};

/// The number of recorded steps to look for at a time.
const STEPS_BATCH: u32 = 8;

/// The evidence of a turn's work so far.
pub(crate) struct Evidence {
    /// The source that shows its work.
    pub(crate) source: Option<WorkRecord>,
    /// The partial answer, if the turn was ended from outside.
    pub(crate) partial_answer: Option<String>,
}

/// The object that shows a turn's progress, as its head names it.
pub(crate) enum WorkRecord {
    /// An outcome object.
    Outcome(Box<Outcome>),
    /// A recorded step.
    RecoveryPoint(Box<RecoveryPoint>),
}

impl Evidence {
    /// Returns the summary that a finalization needs.
    pub(crate) fn outcome_summary(&self) -> OutcomeSummary {
        let found = match &self.source {
            Some(WorkRecord::Outcome(outcome)) => outcome.outcome_summary(),
            Some(WorkRecord::RecoveryPoint(step)) => step.outcome_summary(),
            None => OutcomeSummary::default(),
        };
        match self.partial_answer.as_deref().map(excerpt_of) {
            Some(partial) => {
                OutcomeSummary { report: Report { partial_answer: Some(partial), ..found.report }, ..found }
            }
            None => found,
        }
    }

    /// Returns the outcome object, if that is the source.
    pub(crate) fn outcome(&self) -> Option<&Outcome> {
        match self.source.as_ref()? {
            WorkRecord::Outcome(outcome) => Some(outcome),
            WorkRecord::RecoveryPoint(_) => None,
        }
    }
}

/// Loads the evidence of a turn; none if it was ended from outside before there was any. Every reader gets the same,
/// because the head names the objects and the end of the streamed text.
pub(crate) async fn load(
    store: &impl Reads,
    payloads: &impl PayloadReads,
    turn: &Turn,
) -> Result<Option<Evidence>, Unavailable> {
    let (source, partial) =
        try_join(load_source(payloads, turn), partial_answer::load_text(store, payloads, turn)).await?;
    // Text that accompanies tool calls is part of the recorded step.
    let is_included = |text: &String| matches!(&source, Some(WorkRecord::RecoveryPoint(step)) if step.state.has_reply_starting_with(text));
    let partial = partial.filter(|text| !is_included(text));
    Ok((source.is_some() || partial.is_some()).then_some(Evidence { source, partial_answer: partial }))
}

async fn load_source(payloads: &impl PayloadReads, turn: &Turn) -> Result<Option<WorkRecord>, Unavailable> {
    let Some(source) = turn.evidence_source() else { return Ok(None) };
    Ok(match source {
        EvidenceSource::Outcome(writer) => {
            let outcome = outcomes::load(payloads, &turn.key, writer).await?;
            Some(WorkRecord::Outcome(Box::new(outcome)))
        }
        EvidenceSource::Results(accepted) => step_with_results(payloads, turn, accepted)
            .await?
            .map(|step| WorkRecord::RecoveryPoint(Box::new(step))),
        EvidenceSource::Step(recorded) => {
            let step = recorded_step(payloads, turn, &recorded.attempt, recorded.step).await?;
            step.map(|step| WorkRecord::RecoveryPoint(Box::new(step)))
        }
    })
}

/// The latest step of a running turn, to continue from.
pub(crate) struct LatestStep {
    /// Its record; none for the step of a suspension, completed with the tool results.
    pub(crate) recorded: Option<StepRef>,
    /// The recovered step.
    pub(crate) step: RecoveryPoint,
}

/// Returns references to a running turn's stored work, for the head that ends it. Failures to read are only logged,
/// so they can't prevent the end.
pub(crate) async fn partial_work(
    store: &impl Reads,
    payloads: &impl PayloadReads,
    turn: &Turn,
) -> PartialWork {
    let (last_step, checkpoint) =
        join(last_recorded(payloads, turn), partial_answer::end_of_text(store, turn)).await;
    PartialWork { last_step, checkpoint }
}

async fn last_recorded(payloads: &impl PayloadReads, turn: &Turn) -> Option<StepRef> {
    match latest_step(payloads, turn).await {
        Ok(found) => found.and_then(|found| found.recorded),
        Err(error) => {
            tracing::warn!(error = %causes(&error), "{}", contracts::log::RECOVERY_POINT_UNREADABLE);
            None
        }
    }
}

/// Finds the latest step of a running turn; none if it has to start with the user's request.
///
/// A slow attempt may still write until it is fenced, so the result is final only for the turn's owner.
pub(crate) async fn latest_step(
    payloads: &impl PayloadReads,
    turn: &Turn,
) -> Result<Option<LatestStep>, Unavailable> {
    let State::Running { stage, .. } = &turn.state else { return Ok(None) };
    let resumed = match &turn.accepted_results {
        Some(accepted) => step_with_results(payloads, turn, accepted).await?,
        None => None,
    };
    let already_done = resumed.as_ref().map_or(0, |step| step.state.recovery_points());
    let recorded = furthest_recorded(payloads, turn, stage, already_done).await?;
    Ok(recorded.or(resumed.map(|step| LatestStep { recorded: None, step })))
}

/// Finds the furthest step of the newest attempt that recorded any.
async fn furthest_recorded(
    payloads: &impl PayloadReads,
    turn: &Turn,
    stage: &Stage,
    already_done: u32,
) -> Result<Option<LatestStep>, Unavailable> {
    for writer in stage.attempts.iter().rev() {
        let mut last = None;
        let mut from = already_done + 1;
        loop {
            let steps =
                (from..from + STEPS_BATCH).map(|number| recorded_step(payloads, turn, writer, number));
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
pub(crate) async fn recorded_step(
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
pub(crate) async fn resumed_step(
    payloads: &impl PayloadReads,
    turn: &Turn,
) -> Result<Option<RecoveryPoint>, Unavailable> {
    match &turn.accepted_results {
        Some(accepted) => step_with_results(payloads, turn, accepted).await,
        None => Ok(None),
    }
}

/// Loads the step of a suspension, completed with its tool results.
async fn step_with_results(
    payloads: &impl PayloadReads,
    turn: &Turn,
    accepted: &AcceptedResults,
) -> Result<Option<RecoveryPoint>, Unavailable> {
    let suspended = outcomes::load(payloads, &turn.key, &accepted.suspended_by);
    let results = tool_results(payloads, turn, &accepted.resumed_by);
    let (suspended, results) = try_join(suspended, results).await?;
    let filled = |step: RecoveryPoint| RecoveryPoint {
        state: step.state.with_tool_results(&results, accepted.results),
        ..step
    };
    Ok(suspended.into_recovery_point().map(filled))
}

async fn tool_results(
    payloads: &impl PayloadReads,
    turn: &Turn,
    resumed_by: &AttemptId,
) -> Result<Vec<ToolResult>, Unavailable> {
    let payload = Payload { turn: turn.key.clone(), kind: Kind::ToolResults(resumed_by.clone()) };
    let missing = |source| Unavailable { what: "the tool results", source };
    let stored = payloads.get(&payload).await?.ok_or_else(|| missing("they are missing".into()))?;
    let results =
        ToolContinuation::from_canonical(&stored).map_err(|_| missing("they can't be read".into()))?;
    Ok(results.tool_results.into_vec())
}
