//! Session edits: delete, restore, purge, quarantine and release (rule 12).

use std::sync::Arc;

use protocol::{
    change::Commit,
    session::Session,
    transition::{purging, session_edits},
};

use super::Step;
use crate::{
    config::{Role, SessionEdit},
    coverage::Event,
    fixtures::{at, number, submission, timing},
    rules::Rule,
    state::{Continuation, ProcessState, Write},
};

impl Step<'_> {
    /// The client requests the next edit.
    pub(super) fn edit_session(&mut self) {
        self.process().calls += 1;
        self.decide_edit();
    }

    fn current_edit(&mut self) -> Option<SessionEdit> {
        let place = usize::from(self.process().calls).checked_sub(1)?;
        let Role::Admin { edits } = self.role() else { return None };
        edits.get(place).copied()
    }

    /// Reads the session and its open turn. The second read is a separate effect in a fine-grained configuration.
    pub(super) fn decide_edit(&mut self) {
        let Some(session) = self.state.session.clone() else { return };
        match self.current_edit() {
            Some(SessionEdit::Delete | SessionEdit::Purge | SessionEdit::Quarantine)
                if self.model.config.fine_grained =>
            {
                self.process().state = ProcessState::ReadingOpenTurn { session };
            }
            Some(SessionEdit::Delete | SessionEdit::Purge | SessionEdit::Quarantine) => {
                self.edit_with_turn(&session);
            }
            Some(SessionEdit::Restore) => {
                self.send_edit(session_edits::restore(&session, at(self.state.now)))
            }
            Some(SessionEdit::Release) => {
                self.send_edit(session_edits::release(&session, at(self.state.now)))
            }
            None => {}
        }
    }

    fn send_edit(&mut self, commit: Option<Commit>) {
        let Some(commit) = commit else { return };
        self.process().state = ProcessState::Sending {
            write: Arc::new(Write::Commit(commit)),
            continuation: Continuation::EditSession,
        };
    }

    /// Prepares the transaction that deletes, purges or quarantines the session.
    pub(super) fn edit_with_turn(&mut self, session: &Session) {
        let Some(edit) = self.current_edit() else { return };
        let (ends, raises) = match edit {
            SessionEdit::Purge => (Rule::PurgeEndsOpenTurn, Rule::PurgeRaisesRev),
            SessionEdit::Quarantine => (Rule::QuarantineEndsOpenTurn, Rule::QuarantineRaisesRev),
            SessionEdit::Delete | SessionEdit::Restore | SessionEdit::Release => {
                (Rule::DeleteEndsOpenTurn, Rule::DeleteRaisesRev)
            }
        };
        let open = session.open_turn.as_ref().and_then(|open| self.state.turn(number(open))).cloned();
        let open = open.filter(|_| !self.is_disabled(ends));
        let (by, now, timing) = (&submission(0, 0).requested_by.id, at(self.state.now), timing());
        let open = open.as_deref();
        let commit = match edit {
            SessionEdit::Purge => purging::begin(session, open, by, now, &timing),
            SessionEdit::Quarantine => session_edits::quarantine(session, open, by, now, &timing),
            SessionEdit::Delete | SessionEdit::Restore | SessionEdit::Release => {
                session_edits::delete(session, open, by, timing.retention, now, &timing)
            }
        };
        let Ok(Some(mut commit)) = commit else { return };
        if self.is_disabled(raises) {
            commit.session.after.rev = session.rev;
        }
        self.send_edit(Some(commit));
    }

    /// Records the effect of a successful edit.
    pub(super) fn after_edit(&mut self, write: &Write) {
        match (self.current_edit(), write.turn()) {
            (Some(SessionEdit::Delete), Some(turn)) => {
                self.note(Event::DeleteEnded);
                self.announce(turn);
            }
            (Some(SessionEdit::Quarantine), Some(turn)) => {
                self.note(Event::QuarantineEnded);
                self.announce(turn);
            }
            (Some(SessionEdit::Release), _) => self.note(Event::Released),
            (Some(SessionEdit::Purge), Some(_)) => self.note(Event::PurgeEnded),
            (Some(SessionEdit::Restore), _) => self.note(Event::Restored),
            _ => {}
        }
    }
}
