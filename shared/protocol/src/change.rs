//! The write that a transition asks for, and the condition under which it applies.
//!
//! Transitions return these values. Storage turns each into one conditional write or one transaction and adds no
//! rules of its own.

use crate::{
    budget::MeterRef,
    detail::{ModeChange, Participant, RequestDetail, ResultDetail},
    effect::UnknownEffect,
    id::AttemptId,
    purge::Purge,
    session::Session,
    spent::Spent,
    stream_position::StreamPosition,
    turn::{Phase, State, StepRef, Turn},
    usage::UsageEntry,
    webhook::Delivery,
};
use contracts::{Fingerprint, Timestamp, id::UserId};

/// The partial work to keep of a turn that is ended from outside while it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartialWork {
    /// The last recorded step.
    pub last_step: Option<StepRef>,
    /// The end of the last checkpoint of its stream.
    pub checkpoint: Option<StreamPosition>,
    /// Its spending, if that is known better than its head says.
    pub spent: Option<Spent>,
}

/// A conditional write of a turn's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnChange {
    /// The condition on the stored head.
    pub condition: Condition,
    /// The head after the write.
    pub after: Turn,
}

/// The condition on a turn's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// The turn does not exist.
    Absent,
    /// The head has not changed since it was read.
    Unchanged {
        /// The phase as read.
        phase: Phase,
        /// The owner as read.
        attempt: AttemptId,
        /// The lease end as read, if the decision depends on the lease (rule 9).
        lease_ends: Option<Timestamp>,
    },
    /// The turn is settled, and what it has spent isn't final.
    Unsealed {
        /// The owner as read.
        attempt: AttemptId,
    },
}

impl Condition {
    /// Requires the head's phase and owner as read, whatever the lease.
    #[must_use]
    pub fn same_owner(turn: &Turn) -> Self {
        Self::Unchanged { phase: turn.state.phase(), attempt: turn.attempt.clone(), lease_ends: None }
    }

    /// Requires the head's phase, owner and lease end as read.
    #[must_use]
    pub fn same_lease(turn: &Turn) -> Self {
        let lease_ends = match &turn.state {
            State::Running { lease_ends, .. } => Some(*lease_ends),
            State::AwaitingTools { .. } | State::Settled(_) | State::Finalized(_) => None,
        };
        Self::Unchanged { phase: turn.state.phase(), attempt: turn.attempt.clone(), lease_ends }
    }

    /// True if a write under this condition makes `attempt` the owner.
    fn introduces(&self, attempt: &AttemptId) -> bool {
        match self {
            Self::Absent => true,
            Self::Unchanged { attempt: before, .. } | Self::Unsealed { attempt: before } => before != attempt,
        }
    }

    /// True if the condition holds for the stored head. Storage evaluates the same rule remotely.
    #[must_use]
    pub fn holds(&self, stored: Option<&Turn>) -> bool {
        match (self, stored) {
            (Self::Absent, None) => true,
            (Self::Absent, Some(_)) | (Self::Unchanged { .. } | Self::Unsealed { .. }, None) => false,
            (Self::Unsealed { attempt }, Some(turn)) => {
                let is_final = turn.spent.as_ref().is_some_and(|spent| spent.is_final);
                turn.state.phase() == Phase::Settled && turn.attempt == *attempt && !is_final
            }
            (Self::Unchanged { phase, attempt, lease_ends }, Some(turn)) => {
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
    /// Adds the partial work of a turn that is ended from outside.
    #[must_use]
    pub fn with_partial_work(self, PartialWork { last_step, checkpoint, spent }: PartialWork) -> Self {
        let after = Turn { last_step, checkpoint, ..self.after };
        Self { after, ..self }.with_spent(spent)
    }

    /// Tells the words of the answer that the change commits.
    #[must_use]
    pub fn with_answer(self, answer: Option<Fingerprint>) -> Self {
        Self { after: Turn { answer, ..self.after }, ..self }
    }

    /// Sets what the turn has spent, if that is known better than the head says.
    #[must_use]
    pub fn with_spent(self, spent: Option<Spent>) -> Self {
        let spent = spent.or(self.after.spent);
        Self { after: Turn { spent, ..self.after }, ..self }
    }

    /// Records the user who ended the turn.
    #[must_use]
    pub fn ended_by(self, user: &UserId) -> Self {
        Self { after: Turn { ended_by: Some(user.clone()), ..self.after }, ..self }
    }

    /// True if `stored` proves that this very write was applied, perhaps with later writes on top.
    ///
    /// Resolves a lost reply (I11). An attempt id is fresh, so finding ours as the owner proves that the write which
    /// introduced it was applied.
    #[must_use]
    pub fn was_applied(&self, stored: &Turn) -> bool {
        if stored == &self.after {
            return true;
        }
        match &self.after.state {
            // A fresh owner proves the write that introduced it, whatever happened since. A renewal introduces no
            // owner: only a lease that lasts at least as long proves it, on a turn that still runs.
            State::Running { lease_ends, .. } => {
                let lease_lasts =
                    matches!(&stored.state, State::Running { lease_ends: ends, .. } if ends >= lease_ends);
                stored.attempt == self.after.attempt
                    && (lease_lasts || self.condition.introduces(&self.after.attempt))
            }
            // Our suspension was answered meanwhile.
            State::AwaitingTools { .. } => stored
                .accepted_results
                .as_ref()
                .is_some_and(|accepted| accepted.suspended_by == self.after.attempt),
            // Our settlement was finalized meanwhile, or its figure became final. That is proved by the figure alone.
            State::Settled(settlement) => {
                let is_figure = matches!(self.condition, Condition::Unsealed { .. });
                stored.attempt == self.after.attempt
                    && stored.settlement() == Some(settlement)
                    && (!is_figure || stored.spent == self.after.spent)
            }
            // Nothing follows a terminal head, so only the identical head proves the write. A head that is still
            // settled proves that nothing was applied: every finalization starts from one.
            State::Finalized(_) => false,
        }
    }
}

/// A conditional write of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionChange {
    /// The `Rev` as read, or `None` if the session did not exist.
    pub condition: Option<u64>,
    /// The session after the write.
    pub after: Session,
}

/// A transaction: several items that change together or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The session, which every transaction changes.
    pub session: SessionChange,
    /// The turns whose heads change.
    pub turns: Vec<TurnChange>,
    /// The request details of a new turn.
    pub request: Option<RequestDetail>,
    /// The result of a turn that ends in this transaction.
    pub result: Option<ResultDetail>,
    /// A user who joins the session.
    pub participant: Option<Participant>,
    /// The last activity of the user whose turn ends in this transaction. The user may have no item yet.
    pub activity: Option<Participant>,
    /// The mode changes of a completed turn, in order.
    pub mode_changes: Vec<ModeChange>,
    /// The calls with an unknown outcome of a turn that ends in this transaction.
    pub unknown_effects: Vec<UnknownEffect>,
    /// The events of a turn that ends in this transaction, for webhooks.
    pub deliveries: Vec<Delivery>,
    /// The usage of the turns that become terminal, which is added to the org's.
    pub usage: Vec<UsageEntry>,
    /// The purge record of a session that is being deleted, in its initial state.
    pub purge: Option<Purge>,
}

impl Commit {
    /// Adds the meters of the turn that the transaction starts.
    #[must_use]
    pub fn with_meters(mut self, meters: Vec<MeterRef>) -> Self {
        if let Some(start) = self.turns.first_mut() {
            start.after.meters = meters;
        }
        self
    }

    /// Adds what the turn that the transaction starts will have spent if its first attempt dies.
    #[must_use]
    pub fn with_spent(mut self, spent: Spent) -> Self {
        if let Some(start) = self.turns.first_mut() {
            start.after.spent = Some(spent);
        }
        self
    }

    /// Stores the request of the turn that the transaction starts inline.
    #[must_use]
    pub fn with_inline_request(mut self, json: Option<String>) -> Self {
        if let Some(request) = &mut self.request {
            request.inline_json = json;
        }
        self
    }

    /// Creates a transaction that changes only the session. Other items are added to it.
    #[must_use]
    pub fn new(session: SessionChange) -> Self {
        Self {
            session,
            turns: Vec::new(),
            request: None,
            result: None,
            participant: None,
            activity: None,
            mode_changes: Vec::new(),
            unknown_effects: Vec::new(),
            deliveries: Vec::new(),
            usage: Vec::new(),
            purge: None,
        }
    }
}
