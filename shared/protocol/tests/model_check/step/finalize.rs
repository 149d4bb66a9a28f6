//! Finalize and sweep: settled turns become terminal, whoever told of them.

use std::sync::Arc;

use protocol::{
    detail::OutcomeSummary,
    session::Session,
    transition::{finalize::finalize, sweep, take_over::Purpose},
    turn::{State as Standing, Turn},
};

use super::Step;
use crate::{
    cast::{self, at, number, timing},
    coverage::Event,
    rules::Rule,
    scene::Role,
    state::{At, Broken, Then, Write},
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

    /// The index nominates a turn: the head decides (rule 9).
    pub(super) fn nominated(&mut self, number: u8) {
        let Some(turn) = self.state.turn(number).cloned() else { return };
        let runs = matches!(turn.state, Standing::Running { .. });
        if runs && self.is_out(Rule::IndexProvesNothing) {
            return self.fence(&turn, Purpose::Salvage);
        }
        match sweep::action(&turn, at(self.state.now), &timing()) {
            sweep::Action::Skip => {}
            sweep::Action::Reschedule(change) => self.will_send(change, Then::MovedDue),
            sweep::Action::Salvage => self.fence(&turn, Purpose::Salvage),
            sweep::Action::End(change) => self.will_send(change, Then::EndedOverdue),
            sweep::Action::Finalize => {
                self.note(Event::SweepFinalized);
                self.start_finalizing(number);
            }
        }
    }

    /// Reads session and turn.
    pub(super) fn start_finalizing(&mut self, turn: u8) {
        let session = self.state.session.clone();
        if self.model.scene.fine {
            self.process().at = At::Finalizing { turn, session: Some(session) };
        } else {
            self.finalize(turn, session);
        }
    }

    /// Prepares the transaction that makes a settled turn terminal.
    pub(super) fn finalize(&mut self, turn: u8, session: Option<Arc<Session>>) {
        let (Some(session), Some(turn)) = (session, self.state.turn(turn).cloned()) else { return };
        if !matches!(turn.state, Standing::Settled(_)) {
            if matches!(turn.state, Standing::Finalized(_)) && self.role() == &Role::Finalizer {
                self.note(Event::DuplicateHarmless);
            }
            return;
        }
        let outcome = self.load(&turn);
        let mut finalized = finalize(&session, &turn, outcome.as_ref());
        if finalized.is_err() && self.is_out(Rule::PurgeEndsFinalizing) {
            let unmarked = Session { deleted: None, ..session.as_ref().clone() };
            finalized = finalize(&unmarked, &turn, outcome.as_ref());
            if let Ok(finalized) = &mut finalized {
                finalized.session.deleted.clone_from(&session.deleted);
            }
        }
        // What is purged is not finalized.
        let Ok(finalized) = finalized else { return };
        let mut commit = finalized.commit(&session);
        if self.is_out(Rule::ClearOwnOpenTurn) {
            commit.session.after.open_turn = None;
        }
        self.publish_then_send(turn, Arc::new(Write::Commit(commit)), Then::Finalized);
    }

    /// What the finalizing transaction makes count is written before it (I10).
    pub(super) fn publish_then_send(&mut self, turn: Arc<Turn>, write: Arc<Write>, then: Then) {
        if self.model.scene.fine {
            self.process().at = At::Publishing { turn, write, then };
        } else {
            self.publish(&turn);
            self.process().at = At::Sending { write, then };
        }
    }

    /// Writes what came of a settled turn: whoever writes it writes the same.
    pub(super) fn publish(&mut self, turn: &Turn) {
        let answer = self.answer_of(turn);
        let stored = &mut self.state.details[usize::from(number(&turn.key.turn))];
        let differs = stored.is_some() && *stored != answer;
        *stored = answer;
        if differs && !self.state.is_purged() {
            self.state.breaks(Broken::DecisionChanged);
        }
    }

    /// The outcome object that tells what came of a turn.
    pub(super) fn load(&mut self, turn: &Turn) -> Option<OutcomeSummary> {
        let writer = turn.outcome_writer()?;
        let found = self.object(number(&turn.key.turn), writer);
        let outcome =
            found.map(|object| cast::findings(object, self.model.scene.stages_mode == Some(object.turn)));
        if outcome.is_none() && !self.state.is_purged() {
            self.state.breaks(Broken::Missing);
        }
        outcome
    }
}
