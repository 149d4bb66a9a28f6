//! Cancel: end an open turn on the caller's word.

use protocol::{transition::settle, turn::EndReason};

use super::Step;
use crate::{
    cast::{at, timing},
    coverage::Event,
    state::{Broken, Then},
};

impl Step<'_> {
    /// The client cancels.
    pub(super) fn cancel(&mut self, turn: u8) {
        self.process().calls += 1;
        self.decide_cancel(turn);
    }

    /// Decides by the head as read; what is settled already stands.
    pub(super) fn decide_cancel(&mut self, number: u8) {
        if self.is_refused_as_purged() {
            return;
        }
        let Some(turn) = self.state.turn(number).cloned() else { return };
        match settle::end(&turn, EndReason::Cancelled, at(self.state.now), &timing()) {
            Ok(change) => self.will_send(change, Then::Cancelled),
            Err(_) => {
                self.note(Event::CancelLost);
                self.confirm_cancel(number);
            }
        }
    }

    /// Tells the client that the turn is over, one way or the other.
    pub(super) fn confirm_cancel(&mut self, turn: u8) {
        let is_open = self.state.turn(turn).is_none_or(|turn| turn.settlement().is_none());
        if is_open && !self.state.is_purged() {
            self.state.breaks(Broken::CancelUnfounded);
        }
    }
}
