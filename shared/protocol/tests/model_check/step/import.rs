//! Import: reserves the session's key, writes the head of its one turn, and publishes (rule 13).

use std::sync::{Arc, LazyLock};

use contracts::Fingerprint;
use protocol::{
    change::{Condition, TurnChange},
    id::AttemptId,
    session::Session,
    transition::{
        begin,
        import::{self, Action, Document, Reservation},
        settle,
    },
    turn::{Turn, Verdict},
};

use super::Step;
use crate::{
    coverage::Event,
    fixtures::{at, setup, submission, timing},
    rules::Rule,
    state::{Continuation, Instruction, Object, OutcomeKind, ProcessState, Violation, Write, insert},
};

/// The imported session, and its settled turn.
static IMPORTED: LazyLock<(Session, Turn)> = LazyLock::new(|| {
    let (submission, writer) = (submission(0, 0), AttemptId::new("x".to_owned()));
    let begun = begin::begin(None, None, submission, setup(), writer.clone(), true, at(0), &timing());
    let verdict = Verdict::Completed { writer };
    let settled = settle::settle(&begun.turns[0].after, verdict, at(0), at(0), &timing());
    (begun.session.after, Turn { due: Some(at(0)), ..settled.expect("it runs").after })
});

fn document() -> Document<'static> {
    Document { session: &IMPORTED.0, fingerprint: Fingerprint::hash_bytes(b"document") }
}

impl Step<'_> {
    /// The operator sends the import.
    pub(super) fn call_import(&mut self) {
        self.process().calls += 1;
        self.read_import(false);
    }

    /// Reads session and purge record. The second read is a separate effect in a fine-grained configuration.
    fn read_import(&mut self, was_free: bool) {
        let session = self.state.session.clone();
        match self.model.config.fine_grained {
            true => self.process().state = ProcessState::ReadingPurge { session, was_free },
            false => self.decide_import(session, was_free),
        }
    }

    pub(super) fn decide_import(&mut self, session: Option<Arc<Session>>, was_free: bool) {
        let (by, now) = (&submission(0, 0).requested_by.id, at(self.state.now));
        let purge = self.state.purge.clone();
        let action = import::action(session.as_deref(), purge.as_deref(), document(), was_free, by, now);
        match action {
            Action::Reserve(commit) => {
                self.process().state = ProcessState::Sending {
                    write: Arc::new(Write::Commit(*commit)),
                    continuation: Continuation::Reserve,
                };
            }
            Action::Continue(reservation) => {
                self.note(Event::ImportJoined);
                self.restore_head(reservation);
            }
            Action::ReadAgain => self.read_import(was_free),
            Action::AlreadyImported => self.note(Event::ImportOvertaken),
            Action::Conflict if was_free && purge.is_some_and(|purge| purge.import.is_some()) => {
                self.state.record_violation(Violation::FalseRefusal);
            }
            // A session of its own has the key.
            Action::Conflict => {}
            Action::Wait => self.state.record_violation(Violation::FalseRefusal),
        }
    }

    /// Stores the objects, then prepares the write of the head.
    fn restore_head(&mut self, reservation: Reservation) {
        let writer = IMPORTED.1.attempt.clone();
        let object = Object {
            turn: 0,
            key: writer.clone(),
            writer,
            text: 1,
            kind: OutcomeKind::Answer,
            by_owner: true,
        };
        insert(&mut self.state.objects, object);
        insert(&mut self.state.instructions, Instruction { turn: 0, key: Some(0), body: 0 });
        let write = Write::Restore { reservation: reservation.clone(), head: IMPORTED.1.clone() };
        self.process().state = ProcessState::Sending {
            write: Arc::new(write),
            continuation: Continuation::RestoreHead { reservation },
        };
    }

    /// Continues after the result of a write is known.
    pub(super) fn after_import_write(&mut self, write: &Write, continuation: Continuation, applied: bool) {
        match (continuation, write) {
            (_, _) if !applied => self.read_import(true),
            (Continuation::Reserve, Write::Commit(commit)) => {
                self.restore_head(Reservation::of(&commit.session.after));
            }
            (Continuation::RestoreHead { reservation }, _) => {
                let publish = import::publish(&reservation, document(), at(self.state.now));
                self.process().state = ProcessState::Sending {
                    write: Arc::new(Write::Commit(publish)),
                    continuation: Continuation::PublishImport,
                };
            }
            _ => self.note(Event::Imported),
        }
    }

    /// Sends a head again after a lost reply, unless its condition failed.
    pub(super) fn restore_again(
        &mut self,
        write: Arc<Write>,
        continuation: Continuation,
        applied: Option<bool>,
    ) {
        match applied {
            None => self.after_import_write(&write, continuation, false),
            Some(_) => self.process().state = ProcessState::Sending { write, continuation },
        }
    }

    /// Writes a head if the reservation holds.
    pub(super) fn apply_restore(&mut self, reservation: &Reservation, head: &Turn) -> bool {
        if !reservation.holds(self.state.session.as_deref()) {
            self.note(Event::ImportLate);
            if !self.is_disabled(Rule::ImportIsReserved) {
                return false;
            }
        }
        if self.state.turn(0).is_none_or(|stored| **stored != *head) {
            self.put_head(&TurnChange { condition: Condition::Absent, after: head.clone() });
        }
        true
    }
}
