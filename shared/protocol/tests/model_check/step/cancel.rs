//! Cancel: ends an open turn on the caller's request.

use protocol::{transition::settle, turn::EndReason};

use super::Step;
use crate::{
    coverage::Event,
    fixtures::{at, timing},
    state::{Continuation, Violation},
};

impl Step<'_> {
    /// The client cancels.
    pub(super) fn cancel(&mut self, turn: u8) {
        self.process().calls += 1;
        self.decide_cancel(turn);
    }

    /// Decides by the head as read. A settled turn stays as it is.
    pub(super) fn decide_cancel(&mut self, number: u8) {
        if self.is_refused_as_purged() {
            return;
        }
        let Some(turn) = self.state.turn(number).cloned() else { return };
        match settle::end(&turn, EndReason::Cancelled, at(self.state.now), &timing()) {
            Ok(change) => self.prepare_send(change, Continuation::Cancel),
            Err(_) => {
                self.note(Event::CancelLost);
                self.confirm_cancel(number);
            }
        }
    }

    /// Tells the client that the turn is over.
    pub(super) fn confirm_cancel(&mut self, turn: u8) {
        let is_open = self.state.turn(turn).is_none_or(|turn| turn.settlement().is_none());
        if is_open && !self.state.is_purged() {
            self.state.record_violation(Violation::UnfoundedCancel);
        }
    }
}
