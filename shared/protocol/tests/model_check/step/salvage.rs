//! Salvage and takeover: fence, then look for an outcome, then settle or continue (rule 5).

use std::sync::Arc;

use protocol::{
    id::AttemptId,
    transition::{
        settle::settle,
        take_over::{Purpose, TakeOverError, take_over},
    },
    turn::{EndReason, State as TurnState, Turn, Verdict},
};

use super::Step;
use crate::{
    config::Role,
    coverage::Event,
    fixtures::{at, number, timing},
    rules::Rule,
    state::{Continuation, ProcessState, Write},
};

impl Step<'_> {
    /// Prepares the takeover of a turn whose lease has expired.
    pub(super) fn fence(&mut self, dead: &Turn, purpose: Purpose) {
        let TurnState::Running { lease_ends, stage } = &dead.state else { return };
        let attempt = self.attempt_id(stage.attempts.len() + 1);
        let trusts = self.role() == &Role::Sweep && self.is_disabled(Rule::IndexProvesNothing);
        let now = if trusts { at(self.state.now).max(*lease_ends) } else { at(self.state.now) };
        match take_over(dead, attempt, purpose, now, &timing()) {
            Ok(change) => {
                let prefetched = self.is_disabled(Rule::FenceThenLook).then(|| self.find_outcome(dead));
                let write = Arc::new(Write::Turn { change, take: true });
                self.process().state = ProcessState::Sending {
                    write,
                    continuation: Continuation::Fence { purpose, prefetched },
                };
            }
            Err(TakeOverError::NoAttemptLeft) => {
                self.note(Event::AttemptsUsedUp);
                self.fence(dead, Purpose::Salvage);
            }
            Err(TakeOverError::LeaseActive { .. } | TakeOverError::IllegalTransition(_)) => {
                unreachable!("the decision checked the lease")
            }
        }
    }

    /// Returns the newest attempt of this stage that stored an outcome.
    pub(super) fn find_outcome(&self, turn: &Turn) -> Option<AttemptId> {
        let TurnState::Running { stage, .. } = &turn.state else { return None };
        let number = number(&turn.key.turn);
        stage.attempts.iter().rev().find(|writer| self.object(number, writer).is_some()).cloned()
    }

    /// Settles from the outcome that was found, or continues the work, or gives up.
    pub(super) fn after_fence(&mut self, turn: &Arc<Turn>, purpose: Purpose, found: Option<AttemptId>) {
        let number = number(&turn.key.turn);
        let found =
            found.filter(|_| purpose == Purpose::Salvage || !self.is_disabled(Rule::TakeoverUsesOutcome));
        let object = found.and_then(|writer| Some((self.object(number, &writer)?.clone(), writer)));
        match (object, purpose) {
            (Some((object, writer)), _) => {
                self.note(Event::Salvaged);
                self.settle_from(turn, &writer, &object, Continuation::DecideTaken);
            }
            (None, Purpose::Retry) => {
                self.note(Event::TakenOver);
                self.process().state = ProcessState::CallingModel { turn: turn.clone() };
            }
            (None, Purpose::Salvage) => {
                self.note(Event::Abandoned);
                let now = at(self.state.now);
                let change = settle(turn, Verdict::Ended(EndReason::Abandoned), now, now, &timing());
                self.prepare_send(change.expect("the turn must run"), Continuation::DecideTaken);
            }
        }
    }

    /// Continues after a salvage, whatever its result: a client's function reads again, the sweep finalizes.
    pub(super) fn continue_after_salvage(&mut self, turn: u8) {
        match self.role() {
            Role::Sweep => self.start_finalizing(turn),
            _ => self.restart_read(),
        }
    }
}
