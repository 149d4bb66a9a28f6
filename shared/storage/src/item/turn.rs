//! The turn head's item.

use contracts::{
    Fingerprint, Timestamp,
    id::{SessionId, UserId},
    read::TurnStatus,
    stream::EventId,
};
use protocol::{
    chain::{Rebuild, Start},
    id::{AttemptId, TurnKey},
    line::After,
    place::Place,
    turn::{AcceptedResults, Phase, Reason, Recorded, Settlement, Stage, State, Turn, Verdict},
};
use serde::{Deserialize, Serialize};

use super::{Stored, Unreadable};
use crate::key;

/// Attributes that come and go with the phase.
pub(crate) const OPTIONAL: &[&str] = &[
    "GSI1PK",
    "GSI1SK",
    "Due",
    "LeaseEnds",
    "Round",
    "Writers",
    "Deadline",
    "Verdict",
    "Writer",
    "Reason",
    "StatusAt",
    "Answered",
    "Recorded",
    "Shown",
    "EndedBy",
];

/// (TU) in the catalogue.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct TurnItem {
    #[serde(rename = "GSI1PK", skip_serializing_if = "Option::is_none", default)]
    gsi1pk: Option<String>,
    #[serde(rename = "GSI1SK", skip_serializing_if = "Option::is_none", default)]
    gsi1sk: Option<String>,
    seq: u64,
    /// Absent where the turn goes on from the one before it in its session, as nearly every turn does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    after: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    after_session: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    offset: Option<u64>,
    /// The public status: pending until the turn is finalized (DD-002).
    status: TurnStatus,
    phase: Phase,
    owner: AttemptId,
    fingerprint: Fingerprint,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    request_by: Option<AttemptId>,
    #[serde(rename = "AskedBy")]
    requested_by: UserId,
    created: Timestamp,
    mode: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    previous_response_id: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    streamed: bool,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    rebuild: Option<Rebuild>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    due: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    lease_ends: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    round: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    writers: Option<Vec<AttemptId>>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    deadline: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    verdict: Option<Outcome>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    writer: Option<AttemptId>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    reason: Option<Reason>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    status_at: Option<Timestamp>,
    /// Heads from before this was counted lack it: then the stage's attempts tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    takeovers: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    suspended_by: Option<AttemptId>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    answered: Option<AnsweredAttribute>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    recorded: Option<RecordedAttribute>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    shown: Option<EventId>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    ended_by: Option<UserId>,
}

/// What a settled turn was settled as.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Completed,
    Failed,
    Ended,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct AnsweredAttribute {
    round: u32,
    results: Fingerprint,
    suspended_by: AttemptId,
    resumed_by: AttemptId,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RecordedAttribute {
    by: AttemptId,
    // Named before a step could be anything but a tool round.
    #[serde(rename = "Rounds")]
    step: u32,
}

impl Stored for Turn {
    type Item = TurnItem;

    fn key(&self) -> key::Item<'_> {
        key::Item::Turn(&self.key)
    }
}

impl From<&Turn> for TurnItem {
    fn from(turn: &Turn) -> Self {
        let mut item = Self {
            gsi1pk: turn.due.map(|_| key::open_index(key::shard(&turn.fingerprint))),
            gsi1sk: turn.due.map(|due| key::due(due, &turn.key)),
            seq: turn.sequence,
            after: Some(turn.after.sequence).filter(|_| turn.after != the_one_before(turn.sequence)),
            after_session: turn.after.session.clone(),
            offset: Some(turn.offset).filter(|offset| *offset > 0),
            status: match &turn.state {
                State::Finalized(settlement) => settlement.verdict.status(),
                State::Running { .. } | State::AwaitingTools { .. } | State::Settled(_) => {
                    TurnStatus::Pending
                }
            },
            phase: turn.state.phase(),
            owner: turn.attempt.clone(),
            fingerprint: turn.fingerprint,
            request_by: turn.request_by.clone(),
            requested_by: turn.requested_by.clone(),
            created: turn.created,
            mode: turn.mode.clone(),
            previous_response_id: turn.chain.previous_response_id().map(str::to_owned),
            streamed: turn.streamed,
            rebuild: turn.chain.rebuild(),
            due: turn.due,
            lease_ends: None,
            round: None,
            writers: None,
            deadline: None,
            verdict: None,
            writer: None,
            reason: None,
            status_at: None,
            takeovers: Some(turn.takeovers).filter(|takeovers| *takeovers > 0),
            suspended_by: turn.suspended_by.clone(),
            answered: turn.accepted.clone().map(AnsweredAttribute::from),
            recorded: turn.recorded.clone().map(|Recorded { by, step }| RecordedAttribute { by, step }),
            shown: turn.shown.map(Place::id),
            ended_by: turn.ended_by.clone(),
        };
        match &turn.state {
            State::Running { lease_ends, stage } => {
                item.lease_ends = Some(*lease_ends);
                item.round = Some(stage.round);
                item.writers = Some(stage.attempts.clone());
            }
            State::AwaitingTools { round, deadline } => {
                item.round = Some(*round);
                item.deadline = Some(*deadline);
            }
            State::Settled(settlement) | State::Finalized(settlement) => item.set_settlement(settlement),
        }
        item
    }
}

/// What a turn goes on from where its item doesn't say.
fn the_one_before(sequence: u64) -> After {
    After::turn(sequence.saturating_sub(1))
}

impl TurnItem {
    fn set_settlement(&mut self, settlement: &Settlement) {
        self.status_at = Some(settlement.at);
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
        Ok(Settlement { verdict, at: self.status_at.ok_or(Unreadable::Lacks("StatusAt"))? })
    }

    fn state(&self) -> Result<State, Unreadable> {
        let round = || self.round.ok_or(Unreadable::Lacks("Round"));
        Ok(match self.phase {
            Phase::Running => State::Running {
                lease_ends: self.lease_ends.ok_or(Unreadable::Lacks("LeaseEnds"))?,
                stage: Stage {
                    round: round()?,
                    attempts: self.writers.clone().ok_or(Unreadable::Lacks("Writers"))?,
                },
            },
            Phase::AwaitingTools => State::AwaitingTools {
                round: round()?,
                deadline: self.deadline.ok_or(Unreadable::Lacks("Deadline"))?,
            },
            Phase::Settled => State::Settled(self.settlement()?),
            Phase::Finalized => State::Finalized(self.settlement()?),
        })
    }

    pub(crate) fn into_turn(self, key: TurnKey) -> Result<Turn, Unreadable> {
        let in_stage = self.writers.as_ref().map_or(0, |writers| writers.len().saturating_sub(1));
        let takeovers = self.takeovers.unwrap_or_else(|| u32::try_from(in_stage).unwrap_or(u32::MAX));
        Ok(Turn {
            key,
            sequence: self.seq,
            state: self.state()?,
            after: match self.after {
                Some(sequence) => After { session: self.after_session, sequence },
                None => the_one_before(self.seq),
            },
            offset: self.offset.unwrap_or_default(),
            fingerprint: self.fingerprint,
            request_by: self.request_by,
            requested_by: self.requested_by,
            created: self.created,
            mode: self.mode,
            chain: match (self.previous_response_id, self.rebuild) {
                (_, Some(why)) => Start::Rebuilds(why),
                (Some(id), None) => Start::Continues(id),
                (None, None) => Start::First,
            },
            attempt: self.owner,
            due: self.due,
            streamed: self.streamed,
            takeovers,
            suspended_by: self.suspended_by,
            accepted: self.answered.map(AcceptedResults::from),
            ended_by: self.ended_by,
            recorded: self.recorded.map(|RecordedAttribute { by, step }| Recorded { by, step }),
            shown: self.shown.map(Place::from),
        })
    }
}

impl From<AcceptedResults> for AnsweredAttribute {
    fn from(AcceptedResults { round, results, suspended_by, resumed_by }: AcceptedResults) -> Self {
        Self { round, results, suspended_by, resumed_by }
    }
}

impl From<AnsweredAttribute> for AcceptedResults {
    fn from(AnsweredAttribute { round, results, suspended_by, resumed_by }: AnsweredAttribute) -> Self {
        Self { round, results, suspended_by, resumed_by }
    }
}
