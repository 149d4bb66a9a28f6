//! Salvage and takeover: fence, then look, then settle or go on (rule 5).

use std::sync::Arc;

use protocol::{
    id::AttemptId,
    transition::{
        settle::settle,
        take_over::{Purpose, TakeOverError, take_over},
    },
    turn::{EndReason, State as Standing, Turn, Verdict},
};

use super::Step;
use crate::{
    cast::{at, number, timing},
    coverage::Event,
    rules::Rule,
    scene::Role,
    state::{At, Then, Write},
};

impl Step<'_> {
    /// Prepares to take a turn whose lease is over.
    pub(super) fn fence(&mut self, dead: &Turn, purpose: Purpose) {
        let Standing::Running { lease_ends, stage } = &dead.state else { return };
        let attempt = self.attempt_id(stage.attempts.len() + 1);
        let trusts = self.role() == &Role::Sweep && self.is_out(Rule::IndexProvesNothing);
        let now = if trusts { at(self.state.now).max(*lease_ends) } else { at(self.state.now) };
        match take_over(dead, attempt, purpose, now, &timing()) {
            Ok(change) => {
                let looked = self.is_out(Rule::FenceThenLook).then(|| self.find(dead));
                let write = Arc::new(Write::Turn { change, take: true });
                self.process().at = At::Sending { write, then: Then::Fenced { purpose, looked } };
            }
            Err(TakeOverError::NoAttemptLeft) => {
                self.note(Event::AttemptsUsedUp);
                self.fence(dead, Purpose::Salvage);
            }
            Err(TakeOverError::LeaseActive { .. } | TakeOverError::IllegalTransition(_)) => {
                unreachable!("the decision looked at the lease")
            }
        }
    }

    /// The newest attempt of this stage that stored an outcome.
    pub(super) fn find(&self, turn: &Turn) -> Option<AttemptId> {
        let Standing::Running { stage, .. } = &turn.state else { return None };
        let number = number(&turn.key.turn);
        stage.attempts.iter().rev().find(|writer| self.object(number, writer).is_some()).cloned()
    }

    /// Settles from what was found, or goes on, or gives up.
    pub(super) fn found(&mut self, turn: &Arc<Turn>, purpose: Purpose, found: Option<AttemptId>) {
        let number = number(&turn.key.turn);
        let found = found.filter(|_| purpose == Purpose::Salvage || !self.is_out(Rule::TakeoverUsesOutcome));
        let object = found.and_then(|writer| Some((self.object(number, &writer)?.clone(), writer)));
        match (object, purpose) {
            (Some((object, writer)), _) => {
                self.note(Event::Salvaged);
                self.decide_by(turn, &writer, &object, Then::DecidedTaken);
            }
            (None, Purpose::Retry) => {
                self.note(Event::TakenOver);
                self.process().at = At::Thinking { turn: turn.clone() };
            }
            (None, Purpose::Salvage) => {
                self.note(Event::Abandoned);
                let now = at(self.state.now);
                let change = settle(turn, Verdict::Ended(EndReason::Abandoned), now, now, &timing());
                self.will_send(change.expect("it runs"), Then::DecidedTaken);
            }
        }
    }

    /// Whatever became of the salvage: a client's function looks again, the sweep finalizes.
    pub(super) fn go_on_after_salvage(&mut self, turn: u8) {
        match self.role() {
            Role::Sweep => self.start_finalizing(turn),
            _ => self.look_again(),
        }
    }
}
