//! Upkeep: the session is deleted, the deletion taken back, and the session purged (rule 12).

use std::sync::Arc;

use protocol::{
    session::Session,
    transition::{purging, session_edits},
};

use super::Step;
use crate::{
    cast::{at, number, submission, timing},
    coverage::Event,
    rules::Rule,
    scene::{Role, Upkeep},
    state::{At, Then, Write},
};

impl Step<'_> {
    /// The client asks for the next thing.
    pub(super) fn keep(&mut self) {
        self.process().calls += 1;
        self.decide_keep();
    }

    fn upkeep(&mut self) -> Option<Upkeep> {
        let place = usize::from(self.process().calls).checked_sub(1)?;
        let Role::Keeper { does } = self.role() else { return None };
        does.get(place).copied()
    }

    /// Reads the session; and its open turn, as an effect of its own where reads are.
    pub(super) fn decide_keep(&mut self) {
        let Some(session) = self.state.session.clone() else { return };
        match self.upkeep() {
            Some(Upkeep::Delete | Upkeep::Purge) if self.model.scene.fine => {
                self.process().at = At::Keeping { session };
            }
            Some(Upkeep::Delete | Upkeep::Purge) => self.keep_with_turn(&session),
            Some(Upkeep::Restore) => {
                if let Some(commit) = session_edits::restore(&session, at(self.state.now)) {
                    self.process().at =
                        At::Sending { write: Arc::new(Write::Commit(commit)), then: Then::Kept };
                }
            }
            None => {}
        }
    }

    /// Prepares the transaction that deletes or purges the session.
    pub(super) fn keep_with_turn(&mut self, session: &Session) {
        let purges = self.upkeep() == Some(Upkeep::Purge);
        let (ends, raises) = match purges {
            true => (Rule::PurgeEndsOpenTurn, Rule::PurgeRaisesRev),
            false => (Rule::DeleteEndsOpenTurn, Rule::DeleteRaisesRev),
        };
        let open = session.open_turn.as_ref().and_then(|open| self.state.turn(number(open))).cloned();
        let open = open.filter(|_| !self.is_out(ends));
        let (by, now, timing) = (&submission(0, 0).requested_by.id, at(self.state.now), timing());
        let commit = match purges {
            true => purging::begin(session, open.as_deref(), by, now, &timing),
            false => session_edits::delete(session, open.as_deref(), by, timing.retention, now, &timing),
        };
        let Some(mut commit) = commit else { return };
        if self.is_out(raises) {
            commit.session.after.rev = session.rev;
        }
        self.process().at = At::Sending { write: Arc::new(Write::Commit(commit)), then: Then::Kept };
    }

    /// The session was written.
    pub(super) fn kept(&mut self, write: &Write) {
        match (self.upkeep(), write.turn()) {
            (Some(Upkeep::Delete), Some(turn)) => {
                self.note(Event::DeleteEnded);
                self.announce(turn);
            }
            (Some(Upkeep::Purge), Some(_)) => self.note(Event::PurgeEnded),
            (Some(Upkeep::Restore), _) => self.note(Event::Restored),
            _ => {}
        }
    }
}
