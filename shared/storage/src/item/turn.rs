//! The stored head of a turn.

use contracts::{
    Fingerprint, Timestamp,
    id::{SessionId, UserId},
    read::TurnStatus,
    stream::EventId,
};
use protocol::{
    ancestry::ParentRef,
    budget::MeterRef,
    chain::{ChainStart, ReplayReason},
    id::{AttemptId, TurnKey},
    spent::Spent,
    stream_position::StreamPosition,
    turn::{AcceptedResults, EndReason, Phase, Settlement, Stage, State, StepRef, Turn, Verdict},
};
use serde::{Deserialize, Serialize};

use super::{Entity, Unreadable};
use crate::key;

/// The optional attributes, which depend on the phase.
pub(crate) const OPTIONAL: &[&str] = &[
    "GSI1PK",
    "GSI1SK",
    "ForApproval",
    "Due",
    "LeaseEnds",
    "Round",
    "Attempts",
    "Deadline",
    "Verdict",
    "Writer",
    "Reason",
    "SettledAt",
    "AcceptedResults",
    "LastStep",
    "Checkpoint",
    "EndedBy",
    "Spent",
    SPENT_FINAL,
    "Meters",
];

/// The attribute that exists once what the turn has spent is final. Conditions require its absence.
pub(crate) const SPENT_FINAL: &str = "SpentFinal";

/// See [`key::Item::Turn`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct TurnItem {
    #[serde(rename = "GSI1PK", skip_serializing_if = "Option::is_none", default)]
    gsi1pk: Option<String>,
    #[serde(rename = "GSI1SK", skip_serializing_if = "Option::is_none", default)]
    gsi1sk: Option<String>,
    seq: u64,
    /// Absent if the turn follows the previous turn of its session, as nearly every turn does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    parent: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    parent_session: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    base_depth: Option<u64>,
    /// The public status: pending until the turn is finalized.
    status: TurnStatus,
    phase: Phase,
    owner: AttemptId,
    fingerprint: Fingerprint,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    submission_id: Option<AttemptId>,
    requested_by: UserId,
    created: Timestamp,
    mode: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    previous_response_id: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    streamed: bool,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    replay_reason: Option<ReplayReason>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    due: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    lease_ends: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    round: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    attempts: Option<Vec<AttemptId>>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    deadline: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    verdict: Option<Outcome>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    writer: Option<AttemptId>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    reason: Option<EndReason>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    settled_at: Option<Timestamp>,
    /// Absent on older heads. Then the number of the stage's attempts counts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    takeovers: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    suspended_by: Option<AttemptId>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    accepted_results: Option<AcceptedResultsAttribute>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    last_step: Option<StepAttribute>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    checkpoint: Option<EventId>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    ended_by: Option<UserId>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    spent: Option<Spent>,
    /// See [`SPENT_FINAL`].
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    spent_final: bool,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    meters: Vec<MeterRef>,
    #[serde(rename = "ForApproval", skip_serializing_if = "std::ops::Not::not", default)]
    for_approval: bool,
    #[serde(rename = "Imported", skip_serializing_if = "std::ops::Not::not", default)]
    is_imported: bool,
    #[serde(rename = "Unstored", skip_serializing_if = "std::ops::Not::not", default)]
    is_unstored: bool,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    answer: Option<Fingerprint>,
}

/// The kind of a settlement.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Completed,
    Failed,
    Ended,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct AcceptedResultsAttribute {
    round: u32,
    results: Fingerprint,
    suspended_by: AttemptId,
    resumed_by: AttemptId,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct StepAttribute {
    by: AttemptId,
    step: u32,
}

impl Entity for Turn {
    type Item = TurnItem;

    fn key(&self) -> key::Item<'_> {
        key::Item::Turn(&self.key)
    }
}

impl From<&Turn> for TurnItem {
    fn from(turn: &Turn) -> Self {
        let mut item = Self {
            gsi1pk: turn.due.map(|_| key::open_index(key::shard(&turn.fingerprint))),
            gsi1sk: turn.due.map(|due| key::turn_due(due, &turn.key)),
            seq: turn.sequence,
            parent: Some(turn.parent.sequence).filter(|_| turn.parent != default_parent(turn.sequence)),
            parent_session: turn.parent.session.clone(),
            base_depth: Some(turn.base_depth).filter(|depth| *depth > 0),
            status: match &turn.state {
                State::Finalized(settlement) => settlement.verdict.status(),
                State::Running { .. } | State::AwaitingTools { .. } | State::Settled(_) => {
                    TurnStatus::Pending
                }
            },
            phase: turn.state.phase(),
            owner: turn.attempt.clone(),
            fingerprint: turn.fingerprint,
            submission_id: turn.submission_id.clone(),
            requested_by: turn.requested_by.clone(),
            created: turn.created,
            mode: turn.mode.clone(),
            previous_response_id: turn.chain.previous_response_id().map(str::to_owned),
            streamed: turn.streamed,
            replay_reason: turn.chain.replay_reason(),
            due: turn.due,
            lease_ends: None,
            round: None,
            attempts: None,
            deadline: None,
            verdict: None,
            writer: None,
            reason: None,
            settled_at: None,
            takeovers: Some(turn.takeovers).filter(|takeovers| *takeovers > 0),
            suspended_by: turn.suspended_by.clone(),
            accepted_results: turn.accepted_results.clone().map(AcceptedResultsAttribute::from),
            last_step: turn.last_step.clone().map(|StepRef { attempt: by, step }| StepAttribute { by, step }),
            checkpoint: turn.checkpoint.map(StreamPosition::event_id),
            ended_by: turn.ended_by.clone(),
            spent: turn.spent.clone(),
            spent_final: turn.spent.as_ref().is_some_and(|spent| spent.is_final),
            meters: turn.meters.clone(),
            for_approval: false,
            is_imported: turn.is_imported,
            is_unstored: turn.is_unstored,
            answer: turn.answer,
        };
        match &turn.state {
            State::Running { lease_ends, stage } => {
                item.lease_ends = Some(*lease_ends);
                item.round = Some(stage.round);
                item.attempts = Some(stage.attempts.clone());
            }
            State::AwaitingTools { round, deadline, is_for_approval } => {
                item.round = Some(*round);
                item.for_approval = *is_for_approval;
                item.deadline = Some(*deadline);
            }
            State::Settled(settlement) | State::Finalized(settlement) => item.set_settlement(settlement),
        }
        item
    }
}

/// The parent of a turn whose item names none.
fn default_parent(sequence: u64) -> ParentRef {
    ParentRef::in_session(sequence.saturating_sub(1))
}

impl TurnItem {
    fn set_settlement(&mut self, settlement: &Settlement) {
        self.settled_at = Some(settlement.at);
        self.writer = settlement.verdict.writer().cloned();
        self.verdict = Some(match &settlement.verdict {
            Verdict::Completed { .. } => Outcome::Completed,
            Verdict::Failed { .. } => Outcome::Failed,
            Verdict::Ended(reason) => {
                self.reason = Some(*reason);
                Outcome::Ended
            }
        });
    }

    fn settlement(&self) -> Result<Settlement, Unreadable> {
        let writer = || self.writer.clone().ok_or(Unreadable::Lacks("Writer"));
        let verdict = match self.verdict.ok_or(Unreadable::Lacks("Verdict"))? {
            Outcome::Completed => Verdict::Completed { writer: writer()? },
            Outcome::Failed => Verdict::Failed { writer: writer()? },
            Outcome::Ended => Verdict::Ended(self.reason.ok_or(Unreadable::Lacks("Reason"))?),
        };
        Ok(Settlement { verdict, at: self.settled_at.ok_or(Unreadable::Lacks("SettledAt"))? })
    }

    fn state(&self) -> Result<State, Unreadable> {
        let round = || self.round.ok_or(Unreadable::Lacks("Round"));
        Ok(match self.phase {
            Phase::Running => State::Running {
                lease_ends: self.lease_ends.ok_or(Unreadable::Lacks("LeaseEnds"))?,
                stage: Stage {
                    round: round()?,
                    attempts: self.attempts.clone().ok_or(Unreadable::Lacks("Attempts"))?,
                },
            },
            Phase::AwaitingTools => State::AwaitingTools {
                round: round()?,
                deadline: self.deadline.ok_or(Unreadable::Lacks("Deadline"))?,
                is_for_approval: self.for_approval,
            },
            Phase::Settled => State::Settled(self.settlement()?),
            Phase::Finalized => State::Finalized(self.settlement()?),
        })
    }

    pub(crate) fn into_turn(self, key: TurnKey) -> Result<Turn, Unreadable> {
        let in_stage = self.attempts.as_ref().map_or(0, |attempts| attempts.len().saturating_sub(1));
        let takeovers = self.takeovers.unwrap_or_else(|| u32::try_from(in_stage).unwrap_or(u32::MAX));
        Ok(Turn {
            key,
            sequence: self.seq,
            state: self.state()?,
            parent: match self.parent {
                Some(sequence) => ParentRef { session: self.parent_session, sequence },
                None => default_parent(self.seq),
            },
            base_depth: self.base_depth.unwrap_or_default(),
            fingerprint: self.fingerprint,
            submission_id: self.submission_id,
            requested_by: self.requested_by,
            created: self.created,
            mode: self.mode,
            chain: match (self.previous_response_id, self.replay_reason) {
                (_, Some(reason)) => ChainStart::Replay(reason),
                (Some(id), None) => ChainStart::Continue(id),
                (None, None) => ChainStart::First,
            },
            attempt: self.owner,
            due: self.due,
            streamed: self.streamed,
            takeovers,
            suspended_by: self.suspended_by,
            accepted_results: self.accepted_results.map(AcceptedResults::from),
            ended_by: self.ended_by,
            last_step: self.last_step.map(|StepAttribute { by, step }| StepRef { attempt: by, step }),
            checkpoint: self.checkpoint.map(StreamPosition::from),
            spent: self.spent.map(|spent| Spent { is_final: self.spent_final, ..spent }),
            meters: self.meters,
            is_imported: self.is_imported,
            is_unstored: self.is_unstored,
            answer: self.answer,
        })
    }
}

impl From<AcceptedResults> for AcceptedResultsAttribute {
    fn from(AcceptedResults { round, results, suspended_by, resumed_by }: AcceptedResults) -> Self {
        Self { round, results, suspended_by, resumed_by }
    }
}

impl From<AcceptedResultsAttribute> for AcceptedResults {
    fn from(
        AcceptedResultsAttribute { round, results, suspended_by, resumed_by }: AcceptedResultsAttribute,
    ) -> Self {
        Self { round, results, suspended_by, resumed_by }
    }
}
