//! What a transition writes, and the condition under which the write counts.
//!
//! Transitions return these values; storage turns each into one conditional write or one
//! transaction and knows no rule of its own.

use crate::{
    detail::{ModeChange, Participant, RequestDetail, ResultDetail},
    id::AttemptId,
    place::Place,
    purge::Purge,
    session::Session,
    turn::{Phase, Recorded, State, Turn},
};
use contracts::{Timestamp, id::UserId};

/// What is kept of the work of a turn that is ended from outside while it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Left {
    /// The last step that was recorded.
    pub recorded: Option<Recorded>,
    /// Where the last checkpoint of its stream ends.
    pub shown: Option<Place>,
}

/// A write on a turn's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnChange {
    /// What must be stored for the write to count.
    pub condition: Condition,
    /// The head afterwards.
    pub after: Turn,
}

/// The condition on a turn's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// No such turn.
    Absent,
    /// The head stands as it was read.
    Stands {
        /// In this phase,
        phase: Phase,
        /// under this owner,
        attempt: AttemptId,
        /// and, where the lease decides, with the lease end as read (rule 9).
        lease_ends: Option<Timestamp>,
    },
}

impl Condition {
    /// The head's phase and owner, whatever its lease.
    #[must_use]
    pub fn of_attempt(turn: &Turn) -> Self {
        Self::Stands { phase: turn.state.phase(), attempt: turn.attempt.clone(), lease_ends: None }
    }

    /// The head's phase and owner, and its lease end as read.
    #[must_use]
    pub fn lease_of(turn: &Turn) -> Self {
        let lease_ends = match &turn.state {
            State::Running { lease_ends, .. } => Some(*lease_ends),
            State::AwaitingTools { .. } | State::Settled(_) | State::Finalized(_) => None,
        };
        Self::Stands { phase: turn.state.phase(), attempt: turn.attempt.clone(), lease_ends }
    }

    /// Whether a write under this condition is the one that brings `owner` in.
    fn introduces(&self, attempt: &AttemptId) -> bool {
        match self {
            Self::Absent => true,
            Self::Stands { attempt: before, .. } => before != attempt,
        }
    }

    /// Whether the condition holds on what is stored. Storage evaluates the same rule remotely.
    #[must_use]
    pub fn holds(&self, stored: Option<&Turn>) -> bool {
        match (self, stored) {
            (Self::Absent, None) => true,
            (Self::Absent, Some(_)) | (Self::Stands { .. }, None) => false,
            (Self::Stands { phase, attempt, lease_ends }, Some(turn)) => {
                let lease_as_read = match (&turn.state, lease_ends) {
                    (_, None) => true,
                    (State::Running { lease_ends, .. }, Some(read)) => lease_ends == read,
                    (_, Some(_)) => false,
                };
                turn.state.phase() == *phase && turn.attempt == *attempt && lease_as_read
            }
        }
    }
}

impl TurnChange {
    /// The same, of a turn that is ended from outside, with what is kept of its work.
    #[must_use]
    pub fn knowing(self, Left { recorded, shown }: Left) -> Self {
        Self { after: Turn { recorded, shown, ..self.after }, ..self }
    }

    /// The same, of a turn that a user ended.
    #[must_use]
    pub fn by(self, user: &UserId) -> Self {
        Self { after: Turn { ended_by: Some(user.clone()), ..self.after }, ..self }
    }

    /// Whether `stored` shows that this very write was applied, perhaps with more on top of it.
    ///
    /// This is what a lost reply is resolved by (I11): an attempt id is fresh, so an
    /// attempt that is ours proves that the write which introduced it was applied.
    #[must_use]
    pub fn shows_in(&self, stored: &Turn) -> bool {
        if stored == &self.after {
            return true;
        }
        match &self.after.state {
            // A fresh owner proves the write that introduced it, whatever happened since. A renewal
            // introduces nobody: only a lease that lasts as long proves it, on a turn that still runs.
            State::Running { lease_ends, .. } => {
                let lasts =
                    matches!(&stored.state, State::Running { lease_ends: ends, .. } if ends >= lease_ends);
                stored.attempt == self.after.attempt
                    && (lasts || self.condition.introduces(&self.after.attempt))
            }
            // A suspension of ours that was answered meanwhile.
            State::AwaitingTools { .. } => {
                stored.accepted.as_ref().is_some_and(|accepted| accepted.suspended_by == self.after.attempt)
            }
            // A settlement of ours that was finalized meanwhile.
            State::Settled(settlement) => {
                stored.attempt == self.after.attempt && stored.settlement() == Some(settlement)
            }
            // Nothing comes after terminal, so only the very same head shows it. One that is settled
            // still is what a finalization begins with: it proves that nothing was applied.
            State::Finalized(_) => false,
        }
    }
}

/// A write on a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionChange {
    /// The `Rev` as read, or none when there was no session.
    pub condition: Option<u64>,
    /// The session afterwards.
    pub after: Session,
}

/// Several items that change together or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The session: every transaction changes it.
    pub session: SessionChange,
    /// The turns whose heads change.
    pub turns: Vec<TurnChange>,
    /// What is kept of a new turn's request.
    pub request: Option<RequestDetail>,
    /// What came of a turn that ends in this very transaction.
    pub result: Option<ResultDetail>,
    /// A user who takes part for the first time.
    pub participant: Option<Participant>,
    /// The mode changes that a completed turn brings, in order.
    pub mode_changes: Vec<ModeChange>,
    /// The record of the purge of a session that is deleted, from the beginning.
    pub purge: Option<Purge>,
}

impl Commit {
    /// A transaction on the session alone, to be added to.
    #[must_use]
    pub fn on(session: SessionChange) -> Self {
        Self {
            session,
            turns: Vec::new(),
            request: None,
            result: None,
            participant: None,
            mode_changes: Vec::new(),
            purge: None,
        }
    }
}
