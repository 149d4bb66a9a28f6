//! Finalize and sweep: make settled turns terminal, after a message or a nomination.

use std::sync::Arc;

use contracts::Usage;
use protocol::{
    change::Condition,
    detail::OutcomeSummary,
    session::Session,
    transition::{
        finalize::finalize,
        spend::{self, Seal},
        sweep,
        take_over::Purpose,
    },
    turn::{State as TurnState, Turn},
};

use super::Step;
use crate::{
    config::Role,
    coverage::Event,
    fixtures::{self, at, number, timing},
    rules::Rule,
    state::{Continuation, ProcessState, Violation, Write},
};

impl Step<'_> {
    /// A message is delivered.
    pub(super) fn deliver(&mut self, turn: u8, again: bool) {
        if again {
            self.state.faults.duplicates -= 1;
        } else {
            self.state.queue[usize::from(turn)] -= 1;
        }
        self.start_finalizing(turn);
    }

    /// Handles a turn that the index nominated. The head decides (rule 9).
    pub(super) fn nominate(&mut self, number: u8) {
        let Some(turn) = self.state.turn(number).cloned() else { return };
        let runs = matches!(turn.state, TurnState::Running { .. });
        if runs && self.is_disabled(Rule::IndexProvesNothing) {
            return self.fence(&turn, Purpose::Salvage);
        }
        match sweep::action(&turn, at(self.state.now), &timing()) {
            sweep::Action::Skip => {}
            // Turns of this model have no approvals.
            sweep::Action::Reschedule(change) | sweep::Action::Continue(change) => {
                self.prepare_send(change, Continuation::MoveDue)
            }
            sweep::Action::Salvage => self.fence(&turn, Purpose::Salvage),
            sweep::Action::End(change) => self.prepare_send(change, Continuation::EndOverdue),
            sweep::Action::Finalize => {
                self.note(Event::SweepFinalized);
                self.start_finalizing(number);
            }
        }
    }

    /// Reads session and turn.
    pub(super) fn start_finalizing(&mut self, turn: u8) {
        let session = self.state.session.clone();
        if self.model.config.fine_grained {
            self.process().state = ProcessState::Finalizing { turn, session: Some(session) };
        } else {
            self.finalize(turn, session);
        }
    }

    /// Prepares the transaction that makes a settled turn terminal.
    pub(super) fn finalize(&mut self, turn: u8, session: Option<Arc<Session>>) {
        let (Some(session), Some(turn)) = (session, self.state.turn(turn).cloned()) else { return };
        if !matches!(turn.state, TurnState::Settled(_)) {
            if matches!(turn.state, TurnState::Finalized(_)) && self.role() == &Role::Finalizer {
                self.note(Event::DuplicateHarmless);
            }
            return;
        }
        if let Seal::Write(mut change) = spend::seal(&turn, at(self.state.now), timing().usage_grace) {
            let is_pending = turn.spent.as_ref().is_some_and(|spent| spent.pending.is_some());
            // The sweep's read of the provider fails.
            if is_pending && self.role() == &Role::Finalizer {
                self.note(Event::SpentRead);
                let told = Usage { completion_tokens: 1, total_tokens: 1, ..Usage::default() };
                *change = spend::seal_told(&turn, &told);
            }
            if self.is_disabled(Rule::SpentIsFinalOnce) {
                change.condition = Condition::same_owner(&turn);
            }
            return self.prepare_send(*change, Continuation::Seal);
        }
        if session.is_purged() {
            self.note(Event::PurgeCounted);
        }
        let outcome = self.load(&turn);
        let mut finalized = finalize(&session, &turn, outcome.as_ref());
        if session.is_purged() && self.is_disabled(Rule::PurgedStaysTombstone) {
            let unmarked = Session { deleted: None, ..session.as_ref().clone() };
            finalized = finalize(&unmarked, &turn, outcome.as_ref());
            if let Ok(finalized) = &mut finalized {
                finalized.session.deleted.clone_from(&session.deleted);
            }
        }
        // A reserved id has no turns yet.
        let Ok(finalized) = finalized else { return };
        let mut commit = finalized.commit(&session);
        if self.is_disabled(Rule::ClearOwnOpenTurn) {
            commit.session.after.open_turn = None;
        }
        let write = Arc::new(Write::Commit(commit));
        self.process().state = ProcessState::Sending { write, continuation: Continuation::Finalize };
    }

    /// Loads the outcome object that describes a turn.
    pub(super) fn load(&mut self, turn: &Turn) -> Option<OutcomeSummary> {
        let writer = turn.outcome_writer()?;
        let found = self.object(number(&turn.key.turn), writer);
        let outcome = found
            .map(|object| fixtures::findings(object, self.model.config.stages_mode == Some(object.turn)));
        if outcome.is_none() && !self.state.is_purged() {
            self.state.record_violation(Violation::MissingObject);
        }
        outcome
    }
}
