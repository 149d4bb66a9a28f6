//! The turn head's item.

use contracts::{Fingerprint, Timestamp, id::UserId, read::TurnStatus};
use protocol::{
    chain::Rebuild,
    id::{Owner, TurnKey},
    turn::{Answered, Phase, Reason, Settlement, Stage, State, Turn, Verdict},
};
use serde::{Deserialize, Serialize};

use super::{Head, Unreadable};
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
];

/// (TU) in the catalogue.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct TurnItem {
    #[serde(flatten)]
    head: Head,
    #[serde(rename = "GSI1PK", skip_serializing_if = "Option::is_none", default)]
    gsi1pk: Option<String>,
    #[serde(rename = "GSI1SK", skip_serializing_if = "Option::is_none", default)]
    gsi1sk: Option<String>,
    seq: u64,
    /// The public status: pending until the turn is finalized (DD-002).
    status: TurnStatus,
    phase: Phase,
    owner: Owner,
    fingerprint: Fingerprint,
    asked_by: UserId,
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
    writers: Option<Vec<Owner>>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    deadline: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    verdict: Option<Outcome>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    writer: Option<Owner>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    reason: Option<Reason>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    status_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    suspended_by: Option<Owner>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    answered: Option<AnsweredAttribute>,
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
    suspended_by: Owner,
    resumed_by: Owner,
}

impl From<&Turn> for TurnItem {
    fn from(turn: &Turn) -> Self {
        let mut item = Self {
            head: Head::of(&key::Item::Turn(&turn.key)),
            gsi1pk: turn.due.map(|_| key::open_index(key::shard(&turn.fingerprint))),
            gsi1sk: turn.due.map(|due| key::due(due, &turn.key)),
            seq: turn.sequence,
            status: match &turn.state {
                State::Finalized(settlement) => settlement.verdict.status(),
                State::Running { .. } | State::AwaitingTools { .. } | State::Settled(_) => {
                    TurnStatus::Pending
                }
            },
            phase: turn.state.phase(),
            owner: turn.owner.clone(),
            fingerprint: turn.fingerprint,
            asked_by: turn.asked_by.clone(),
            created: turn.created,
            mode: turn.mode.clone(),
            previous_response_id: turn.previous_response_id.clone(),
            streamed: turn.streamed,
            rebuild: turn.rebuild,
            due: turn.due,
            lease_ends: None,
            round: None,
            writers: None,
            deadline: None,
            verdict: None,
            writer: None,
            reason: None,
            status_at: None,
            suspended_by: turn.suspended_by.clone(),
            answered: turn.answered.clone().map(AnsweredAttribute::from),
        };
        match &turn.state {
            State::Running { lease_ends, stage } => {
                item.lease_ends = Some(*lease_ends);
                item.round = Some(stage.round);
                item.writers = Some(stage.writers.clone());
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
                    writers: self.writers.clone().ok_or(Unreadable::Lacks("Writers"))?,
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
        Ok(Turn {
            key,
            sequence: self.seq,
            state: self.state()?,
            fingerprint: self.fingerprint,
            asked_by: self.asked_by,
            created: self.created,
            mode: self.mode,
            previous_response_id: self.previous_response_id,
            rebuild: self.rebuild,
            owner: self.owner,
            due: self.due,
            streamed: self.streamed,
            suspended_by: self.suspended_by,
            answered: self.answered.map(Answered::from),
        })
    }
}

impl From<Answered> for AnsweredAttribute {
    fn from(Answered { round, results, suspended_by, resumed_by }: Answered) -> Self {
        Self { round, results, suspended_by, resumed_by }
    }
}

impl From<AnsweredAttribute> for Answered {
    fn from(AnsweredAttribute { round, results, suspended_by, resumed_by }: AnsweredAttribute) -> Self {
        Self { round, results, suspended_by, resumed_by }
    }
}
