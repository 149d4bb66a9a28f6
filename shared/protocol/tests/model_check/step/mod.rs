//! One effect of one process. The files mirror the flows: what is read or written, and in which order.

mod attempt;
mod cancel;
mod finalize;
mod keep;
mod purge;
mod salvage;
mod start;
mod tools;
mod write;

use std::sync::Arc;

use protocol::{
    id::AttemptId,
    transition::take_over::takeover_after,
    turn::{State as Standing, Turn, Verdict},
};

use crate::{
    cast::{self, at, number, timing},
    coverage::Event,
    model::{How, Lifecycle},
    rules::Rule,
    scene::Role,
    state::{Answer, At, Broken, Object, Process, Said, State, Told, insert},
};

/// The process whose effect it is, and the world it changes.
pub(crate) struct Step<'a> {
    pub(crate) model: &'a Lifecycle,
    pub(crate) state: &'a mut State,
    pub(crate) me: u8,
}

impl Step<'_> {
    /// Has the next effect.
    pub(crate) fn run(&mut self, how: How) {
        // Almost every step moves the process on, so its old place is taken, not copied.
        let place = std::mem::replace(&mut self.process().at, At::Rest);
        match (place, how) {
            (At::Rest, How::Call) => match self.role() {
                Role::Canceller { turn } => self.cancel(*turn),
                Role::Keeper { .. } => self.keep(),
                _ => self.call(),
            },
            (At::Rest, How::Deliver { turn, again }) => self.deliver(turn, again),
            (At::Rest, How::Nominate(turn)) => self.nominated(turn),
            (At::Rest, How::Remove) => self.remove_next(),
            (At::Looking { session, turn }, how) => self.look(session, turn, how),
            (At::Publishing { turn, write, then }, _) => {
                self.publish(&turn);
                self.process().at = At::Sending { write, then };
            }
            (At::Sending { write, then }, how) => self.send(write, then, how),
            (At::ReadingBack { write, then, applied }, _) => self.read_back(write, then, applied),
            (At::Fenced { turn, purpose }, _) => {
                let found = self.find(&turn);
                self.found(&turn, purpose, found);
            }
            (work @ (At::Thinking { .. } | At::Storing { .. }), How::Renew) => self.renew(work),
            (At::Thinking { turn }, How::Reply(said)) => self.think(turn, said),
            (At::Storing { turn, said, text }, how) => self.store(&turn, said, text, how),
            (At::StoringResults { results, write }, _) => self.store_results(results, write),
            (At::Waiting { turn }, How::Go) => self.poll(turn),
            (At::Keeping { session }, _) => self.keep_with_turn(&session),
            (At::Finalizing { turn, session }, _) => self.finalize(turn, session.flatten()),
            // Waiting was given up: the client is told to come again.
            (_, _) => {}
        }
    }

    /// Dies, with all it held in memory. A message it was working on comes back.
    pub(crate) fn crash(&mut self) {
        let place = std::mem::replace(&mut self.process().at, At::Rest);
        self.process().crashed = true;
        if self.role() == &Role::Finalizer {
            let turn = match &place {
                At::Finalizing { turn, .. } => Some(*turn),
                At::Publishing { turn, .. } => Some(number(&turn.key.turn)),
                At::Sending { write, .. } | At::ReadingBack { write, .. } => write.turn(),
                _ => None,
            };
            if let Some(turn) = turn {
                self.state.queue[usize::from(turn)] += 1;
            }
        }
    }

    pub(super) fn process(&mut self) -> &mut Process {
        &mut self.state.processes[usize::from(self.me)]
    }

    pub(super) fn role(&self) -> &Role {
        &self.model.scene.roles[usize::from(self.me)]
    }

    pub(super) fn is_out(&self, rule: Rule) -> bool {
        self.model.is_out(rule)
    }

    pub(super) fn note(&self, event: Event) {
        self.model.coverage.note(event);
    }

    /// A fresh attempt id; with rule 3 taken out, the number of the attempt.
    pub(super) fn attempt_id(&self, attempt: usize) -> AttemptId {
        if self.is_out(Rule::FreshAttemptId) {
            return AttemptId::new(attempt.to_string());
        }
        // Attempt ids are names: one that nobody knows any more is as fresh as one that nobody ever knew, and
        // the fewer names there are, the fewer states differ in names alone.
        let fresh =
            (0..).map(|count| cast::attempt(self.me, count)).find(|attempt| !self.state.mentions(attempt));
        fresh.expect("there are more names than places")
    }

    /// How often the running turn was suspended before.
    pub(crate) fn round(turn: &Turn) -> u32 {
        match &turn.state {
            Standing::Running { stage, .. } => stage.round,
            _ => 0,
        }
    }

    /// Whether a lease lasts on the turn.
    pub(crate) fn is_held(turn: &Turn, now: u8) -> bool {
        matches!(&turn.state, Standing::Running { lease_ends, .. } if at(now) < takeover_after(*lease_ends, &timing()))
    }

    /// The attempt id under which an owner's objects lie.
    pub(super) fn key_of(&self, attempt: &AttemptId) -> AttemptId {
        match self.is_out(Rule::PayloadsCarryTheirWriter) {
            true => AttemptId::new(String::new()),
            false => attempt.clone(),
        }
    }

    /// An owner's outcome object.
    pub(super) fn object(&self, turn: u8, attempt: &AttemptId) -> Option<&Object> {
        let key = self.key_of(attempt);
        self.state.objects.iter().find(|object| object.turn == turn && object.key == key)
    }

    /// What a turn answers that does not run, by its head alone (rule 7).
    pub(super) fn answer_of(&mut self, turn: &Turn) -> Option<Answer> {
        let (writer, said) = match &turn.state {
            Standing::Running { .. } => return None,
            Standing::AwaitingTools { .. } => (&turn.attempt, Said::Calls),
            Standing::Settled(settlement) | Standing::Finalized(settlement) => match &settlement.verdict {
                Verdict::Completed { writer } => (writer, Said::Answer),
                Verdict::Failed { writer } => (writer, Said::Failure),
                Verdict::Ended(reason) => return Some(Answer::Ended((*reason).into())),
            },
        };
        match self.object(number(&turn.key.turn), writer) {
            Some(object) => Some(says(said, object.text)),
            None => {
                if !self.state.is_purged() {
                    self.state.breaks(Broken::Missing);
                }
                None
            }
        }
    }

    /// Answers the client (I5).
    pub(super) fn tell(&mut self, turn: u8, answer: Answer) {
        if let Some(head) = self.state.turn(turn).cloned().filter(|_| !self.state.is_purged()) {
            let stands = match answer {
                Answer::Calls(text) => {
                    let suspended_by = match (&head.state, &head.accepted_results) {
                        (Standing::AwaitingTools { .. }, _) => Some(&head.attempt),
                        (_, Some(answered)) => Some(&answered.suspended_by),
                        (_, None) => None,
                    };
                    suspended_by.and_then(|attempt| self.object(turn, attempt)).map(|object| object.text)
                        == Some(text)
                }
                _ => self.answer_of(&head) == Some(answer),
            };
            if !stands {
                self.state.breaks(Broken::AnsweredOther);
            }
            if self.request().is_some_and(|(_, body)| cast::body(head.fingerprint) != body) {
                self.state.breaks(Broken::AnsweredForeign);
            }
        }
        insert(&mut self.state.told, Told { turn, answer });
    }

    /// Tells the finalizer. Whether the message is lost is the queue's business.
    pub(super) fn announce(&mut self, turn: u8) {
        if self.model.scene.roles.contains(&Role::Finalizer) {
            self.state.queue[usize::from(turn)] += 1;
        }
    }

    /// Answers with what somebody else made of the turn, as soon as there is something (rule 6).
    pub(super) fn what_stands(&mut self, turn: &Arc<Turn>) {
        match self.answer_of(turn) {
            Some(answer) => self.tell(number(&turn.key.turn), answer),
            None => self.process().at = At::Waiting { turn: number(&turn.key.turn) },
        }
    }
}

/// What an object with this text answers.
pub(super) fn says(said: Said, text: u8) -> Answer {
    match said {
        Said::Answer => Answer::Text(text),
        Said::Failure => Answer::Failure(text),
        Said::Calls => Answer::Calls(text),
    }
}
