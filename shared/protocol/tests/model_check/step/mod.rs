//! One effect of one process. The files mirror the flows: the same reads and writes in the same order.

mod attempt;
mod cancel;
mod finalize;
mod import;
mod purge;
mod salvage;
mod session_edits;
mod start;
mod tools;
mod write;

use std::sync::Arc;

use protocol::{
    id::AttemptId,
    transition::take_over::takeover_after,
    turn::{State as TurnState, Turn, Verdict},
};

use crate::{
    config::Role,
    coverage::Event,
    fixtures::{self, at, number, timing},
    model::{Choice, Lifecycle},
    rules::Rule,
    state::{Answer, ClientAnswer, Object, OutcomeKind, Process, ProcessState, State, Violation, insert},
};

/// A step: the process that acts, and the state that it changes.
pub(crate) struct Step<'a> {
    pub(crate) model: &'a Lifecycle,
    pub(crate) state: &'a mut State,
    pub(crate) me: u8,
}

impl Step<'_> {
    /// Performs the next effect.
    pub(crate) fn run(&mut self, choice: Choice) {
        // Almost every step changes the process's state, so the old one is taken, not cloned.
        let place = std::mem::replace(&mut self.process().state, ProcessState::Idle);
        match (place, choice) {
            (ProcessState::Idle, Choice::Call) => match self.role() {
                Role::Canceller { turn } => self.cancel(*turn),
                Role::Admin { .. } => self.edit_session(),
                Role::Importer => self.call_import(),
                _ => self.call(),
            },
            (ProcessState::Idle, Choice::Deliver { turn, again }) => self.deliver(turn, again),
            (ProcessState::Idle, Choice::Nominate(turn)) => self.nominate(turn),
            (ProcessState::Idle, Choice::Remove) => self.remove_next(),
            (ProcessState::ReadingSnapshot { session, turn }, choice) => {
                self.read_snapshot(session, turn, choice)
            }
            (ProcessState::Sending { write, continuation }, choice) => self.send(write, continuation, choice),
            (ProcessState::ReadingBack { write, continuation, applied }, _) => {
                self.read_back(write, continuation, applied)
            }
            (ProcessState::Fenced { turn, purpose }, _) => {
                let found = self.find_outcome(&turn);
                self.after_fence(&turn, purpose, found);
            }
            (work @ (ProcessState::CallingModel { .. } | ProcessState::Storing { .. }), Choice::Renew) => {
                self.renew(work)
            }
            (ProcessState::CallingModel { turn }, Choice::Reply(kind)) => self.call_model(turn, kind),
            (ProcessState::Storing { turn, kind, text }, choice) => self.store(&turn, kind, text, choice),
            (ProcessState::StoringResults { results, write }, _) => self.store_results(results, write),
            (ProcessState::Waiting { turn }, Choice::Proceed) => self.poll(turn),
            (ProcessState::ReadingOpenTurn { session }, _) => self.edit_with_turn(&session),
            (ProcessState::ReadingPurge { session, was_free }, _) => self.decide_import(session, was_free),
            (ProcessState::Finalizing { turn, session }, _) => self.finalize(turn, session.flatten()),
            // The wait timed out: the client is asked to come again.
            (_, _) => {}
        }
    }

    /// Crashes and loses the process's memory. A message that it handled returns to the queue.
    pub(crate) fn crash(&mut self) {
        let place = std::mem::replace(&mut self.process().state, ProcessState::Idle);
        self.process().crashed = true;
        if self.role() == &Role::Finalizer {
            let turn = match &place {
                ProcessState::Finalizing { turn, .. } => Some(*turn),
                ProcessState::Sending { write, .. } | ProcessState::ReadingBack { write, .. } => write.turn(),
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
        &self.model.config.roles[usize::from(self.me)]
    }

    pub(super) fn is_disabled(&self, rule: Rule) -> bool {
        self.model.is_disabled(rule)
    }

    pub(super) fn note(&self, event: Event) {
        self.model.coverage.note(event);
    }

    /// Returns a fresh attempt id, or the number of the attempt if rule 3 is disabled.
    pub(super) fn attempt_id(&self, attempt: usize) -> AttemptId {
        if self.is_disabled(Rule::FreshAttemptId) {
            return AttemptId::new(attempt.to_string());
        }
        // Attempt ids are only names: one that is no longer mentioned anywhere is as fresh as a new one, and reusing
        // names keeps the number of states down.
        let fresh = (0..)
            .map(|count| fixtures::attempt(self.me, count))
            .find(|attempt| !self.state.mentions(attempt));
        fresh.expect("there must be an unused name")
    }

    /// Returns the number of earlier suspensions of a running turn.
    pub(crate) fn round(turn: &Turn) -> u32 {
        match &turn.state {
            TurnState::Running { stage, .. } => stage.round,
            _ => 0,
        }
    }

    /// True if the turn has an active lease.
    pub(crate) fn is_held(turn: &Turn, now: u8) -> bool {
        matches!(&turn.state, TurnState::Running { lease_ends, .. } if at(now) < takeover_after(*lease_ends, &timing()))
    }

    /// Returns the attempt id under which an owner's objects are stored.
    pub(super) fn key_of(&self, attempt: &AttemptId) -> AttemptId {
        match self.is_disabled(Rule::PayloadsCarryTheirWriter) {
            true => AttemptId::new(String::new()),
            false => attempt.clone(),
        }
    }

    /// Returns an owner's outcome object.
    pub(super) fn object(&self, turn: u8, attempt: &AttemptId) -> Option<&Object> {
        let key = self.key_of(attempt);
        self.state.objects.iter().find(|object| object.turn == turn && object.key == key)
    }

    /// Returns the answer of a turn that does not run, from its head alone (rule 7).
    pub(super) fn answer_of(&mut self, turn: &Turn) -> Option<Answer> {
        let (writer, kind) = match &turn.state {
            TurnState::Running { .. } => return None,
            TurnState::AwaitingTools { .. } => (&turn.attempt, OutcomeKind::Calls),
            TurnState::Settled(settlement) | TurnState::Finalized(settlement) => match &settlement.verdict {
                Verdict::Completed { writer } => (writer, OutcomeKind::Answer),
                Verdict::Failed { writer } => (writer, OutcomeKind::Failure),
                Verdict::Ended(reason) => return Some(Answer::Ended((*reason).into())),
            },
        };
        match self.object(number(&turn.key.turn), writer) {
            Some(object) => Some(outcome_answer(kind, object.text)),
            None => {
                if !self.state.is_purged() {
                    self.state.record_violation(Violation::MissingObject);
                }
                None
            }
        }
    }

    /// Answers the client (I5).
    pub(super) fn answer_client(&mut self, turn: u8, answer: Answer) {
        if let Some(head) = self.state.turn(turn).cloned().filter(|_| !self.state.is_purged()) {
            let stands = match answer {
                Answer::Calls(text) => {
                    let suspended_by = match (&head.state, &head.accepted_results) {
                        (TurnState::AwaitingTools { .. }, _) => Some(&head.attempt),
                        (_, Some(answered)) => Some(&answered.suspended_by),
                        (_, None) => None,
                    };
                    suspended_by.and_then(|attempt| self.object(turn, attempt)).map(|object| object.text)
                        == Some(text)
                }
                _ => self.answer_of(&head) == Some(answer),
            };
            if !stands {
                self.state.record_violation(Violation::WrongAnswer);
            }
            if self.request().is_some_and(|(_, body)| fixtures::body(head.fingerprint) != body) {
                self.state.record_violation(Violation::ForeignAnswer);
            }
        }
        insert(&mut self.state.client_answers, ClientAnswer { turn, answer });
    }

    /// Sends a message to the finalizer. The queue may lose it.
    pub(super) fn announce(&mut self, turn: u8) {
        if self.model.config.roles.contains(&Role::Finalizer) {
            self.state.queue[usize::from(turn)] += 1;
        }
    }

    /// Answers from the stored head, which another attempt may have written, as soon as it has an answer (rule 6).
    pub(super) fn answer_from_head(&mut self, turn: &Arc<Turn>) {
        match self.answer_of(turn) {
            Some(answer) => self.answer_client(number(&turn.key.turn), answer),
            None => self.process().state = ProcessState::Waiting { turn: number(&turn.key.turn) },
        }
    }
}

/// Returns the answer of an outcome object with this kind and text.
pub(super) fn outcome_answer(kind: OutcomeKind, text: u8) -> Answer {
    match kind {
        OutcomeKind::Answer => Answer::Text(text),
        OutcomeKind::Failure => Answer::Failure(text),
        OutcomeKind::Calls => Answer::Calls(text),
    }
}
