//! Evidence of a turn's work, from its outcome objects, recorded steps and streamed text. Reads and finalizations load it,
//! project it to a report or a history, and render that.

use agent::{
    attempt::RecoveryPoint,
    outcome::{Ending, Outcome},
    text::excerpt::excerpt_of,
};
use futures::future::try_join;
use protocol::{
    detail::{OutcomeSummary, Report},
    transition::finalize,
    turn::{EvidenceSource, State, Turn},
};

use crate::{
    flow::finish::{effects, outcomes, partial, steps},
    ports::{PayloadReads, Reads, Record, Unavailable},
};

/// The evidence of a turn's work so far. Empty if the turn was ended from outside before there was any.
#[derive(Default)]
pub(crate) struct TurnEvidence {
    /// The object that shows its work.
    pub(crate) work: Option<WorkRecord>,
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

impl TurnEvidence {
    /// Loads the evidence of a turn. Every reader of a turn that isn't running gets the same, because the head names
    /// the objects and the end of the streamed text. For a running turn, it is the latest step that its attempts
    /// recorded.
    pub(crate) async fn load(
        store: &impl Reads,
        payloads: &impl PayloadReads,
        turn: &Turn,
    ) -> Result<Self, Unavailable> {
        if let State::Running { .. } = turn.state {
            // Boxed: only reads of a running turn's history get here, and this future is large.
            let latest = Box::pin(steps::latest(payloads, turn)).await?;
            return Ok(Self { work: latest.map(|latest| latest.step.into()), partial_answer: None });
        }
        let (work, partial) =
            try_join(load_work(payloads, turn), partial::load_text(store, payloads, turn)).await?;
        let rounds = work.as_ref().map_or(0, WorkRecord::finished_rounds);
        // Boxed: few turns were ended from outside while they ran.
        let open = Box::pin(effects::open_round(store, payloads, turn, rounds)).await?;
        let work = open.map(WorkRecord::from).or(work);
        // Text that accompanies tool calls is part of the recorded step.
        let is_included = |text: &String| matches!(&work, Some(WorkRecord::RecoveryPoint(step)) if step.state.rounds.has_reply_starting_with(text));
        let partial_answer = partial.filter(|text| !is_included(text));
        Ok(Self { work, partial_answer })
    }

    /// Returns the summary that a finalization needs; none if the evidence is empty.
    pub(crate) fn summary(&self) -> Option<OutcomeSummary> {
        let summary = match &self.work {
            Some(WorkRecord::Outcome(outcome)) => Some(outcome.outcome_summary()),
            Some(WorkRecord::RecoveryPoint(step)) => Some(step.outcome_summary()),
            None => None,
        };
        match self.partial_answer.as_deref().map(excerpt_of) {
            Some(partial) => {
                let summary = summary.unwrap_or_default();
                let report = Report { partial_answer: Some(partial), ..summary.report };
                Some(OutcomeSummary { report, ..summary })
            }
            None => summary,
        }
    }

    /// Returns the outcome object, if that shows the work.
    pub(crate) fn outcome(&self) -> Option<&Outcome> {
        match self.work.as_ref()? {
            WorkRecord::Outcome(outcome) => Some(outcome),
            WorkRecord::RecoveryPoint(_) => None,
        }
    }
}

impl WorkRecord {
    /// Returns the number of rounds in a recorded state, and 0 of a turn that ended by itself.
    fn rounds(&self) -> u32 {
        match self {
            Self::RecoveryPoint(step) => step.state.rounds.count,
            Self::Outcome(outcome) => match &outcome.ending {
                Ending::Suspended { recovery_point } => recovery_point.state.rounds.count,
                Ending::Completed { .. } | Ending::Failed { .. } => 0,
            },
        }
    }

    /// Returns the number of rounds whose calls of the service have results.
    fn finished_rounds(&self) -> u32 {
        match self {
            Self::RecoveryPoint(step) => step.state.rounds.finished(),
            Self::Outcome(outcome) => match &outcome.ending {
                Ending::Suspended { recovery_point } => recovery_point.state.rounds.finished(),
                Ending::Completed { .. } | Ending::Failed { .. } => 0,
            },
        }
    }

    /// True if the turn called tools.
    pub(crate) fn has_tool_calls(&self) -> bool {
        match self {
            Self::RecoveryPoint(_) => self.rounds() > 0,
            Self::Outcome(outcome) => match &outcome.ending {
                Ending::Suspended { .. } => self.rounds() > 0,
                Ending::Completed { tool_rounds, .. } | Ending::Failed { tool_rounds, .. } => {
                    !tool_rounds.is_empty()
                }
            },
        }
    }
}

impl From<Outcome> for WorkRecord {
    fn from(outcome: Outcome) -> Self {
        Self::Outcome(Box::new(outcome))
    }
}

impl From<RecoveryPoint> for WorkRecord {
    fn from(step: RecoveryPoint) -> Self {
        Self::RecoveryPoint(Box::new(step))
    }
}

async fn load_work(payloads: &impl PayloadReads, turn: &Turn) -> Result<Option<WorkRecord>, Unavailable> {
    let Some(source) = turn.evidence_source() else { return Ok(None) };
    Ok(match source {
        EvidenceSource::Outcome(writer) => Some(outcomes::load(payloads, &turn.key, writer).await?.into()),
        EvidenceSource::Results(accepted) => {
            steps::with_results(payloads, turn, accepted).await?.map(WorkRecord::from)
        }
        EvidenceSource::Step(recorded) => {
            let step = steps::recorded(payloads, turn, &recorded.attempt, recorded.step).await?;
            step.map(WorkRecord::from)
        }
    })
}

/// Loads the report of a turn: from its detail if it is finalized, or from its evidence as soon as it is settled.
pub(crate) async fn load_report(
    store: &impl Reads,
    payloads: &impl PayloadReads,
    record: &Record,
) -> Result<Report, Unavailable> {
    match (&record.turn.state, &record.result) {
        (State::Finalized(_), Some(result)) => Ok(result.report.clone()),
        (State::Settled(settlement) | State::Finalized(settlement), _) => {
            let evidence = TurnEvidence::load(store, payloads, &record.turn).await?;
            Ok(finalize::report(&record.turn, &settlement.verdict, evidence.summary().as_ref()))
        }
        // Of a turn that waits for the client, the sources are known and the rest isn't final.
        (State::AwaitingTools { .. }, _) => {
            let evidence = Box::pin(TurnEvidence::load(store, payloads, &record.turn)).await?;
            let report = evidence.summary().map(|summary| summary.report).unwrap_or_default();
            Ok(Report { chunk_refs: report.chunk_refs, ..Report::default() })
        }
        (State::Running { .. }, _) => Ok(Report::default()),
    }
}
