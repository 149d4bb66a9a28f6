//! Tool results: exact or nothing (I6).
//!
//! The order of effects is that of `flow/start/resumption.rs`: read, end the turn if the results are too late, compare,
//! store the results under a fresh attempt id, and resume on the condition that the head is unchanged.

use std::sync::Arc;

use protocol::{
    transition::{resume::resume, settle::end_overdue, take_over::Purpose},
    turn::{State as TurnState, Turn},
};

use super::Step;
use crate::{
    config::Role,
    coverage::Event,
    fixtures::{self, at, number, timing},
    rules::Rule,
    state::{Answer, Continuation, ProcessState, Results, Write, insert},
};

impl Step<'_> {
    /// Reads the turn that the results are for, and decides.
    pub(super) fn decide_results(&mut self) {
        let Role::Tools { turn: requested, results } = self.role() else { return };
        let (requested, results) = (*requested, results.clone());
        let call = usize::from(self.process().calls).saturating_sub(1);
        let (content, exact) = results[call];
        let answered_texts = self.state.client_answers.iter().filter_map(|given| match given.answer {
            Answer::Calls(text) if given.turn == requested => Some(text),
            _ => None,
        });
        // Inexact results answer a call that does not exist.
        let calls = if exact { answered_texts.max().unwrap_or(0) } else { 0 };
        let fingerprint = fixtures::results_fingerprint(calls, content);
        if self.is_refused_as_purged() {
            return;
        }
        let Some(turn) = self.state.turn(requested).cloned() else { return };
        if let Some(end) = end_overdue(&turn, at(self.state.now), &timing()) {
            return self.prepare_send(end, Continuation::EndLate);
        }
        if turn.accepted_results.as_ref().is_some_and(|answered| answered.results == fingerprint) {
            self.note(Event::ResumedAgain);
            return self.results_again(&turn);
        }
        if !matches!(turn.state, TurnState::AwaitingTools { .. }) {
            return self.note(Event::OtherResults);
        }
        let pending = self.object(requested, &turn.attempt).map(|object| object.text);
        if pending != Some(calls) && !self.is_disabled(Rule::ResultsMatchExactly) {
            return self.note(Event::Mismatch);
        }
        let attempt = self.attempt_id(1);
        let change = resume(&turn, attempt.clone(), fingerprint, at(self.state.now), &timing());
        let write =
            Arc::new(Write::Turn { change: change.expect("the turn must await results"), take: false });
        let results = Results { turn: requested, attempt, calls, content };
        self.process().state = ProcessState::StoringResults { results, write };
    }

    /// Handles repeated results: answers with the turn's state since, or takes it over.
    fn results_again(&mut self, turn: &Arc<Turn>) {
        match &turn.state {
            TurnState::Running { .. } if Self::is_held(turn, self.state.now) => {
                self.process().state = ProcessState::Waiting { turn: number(&turn.key.turn) };
            }
            TurnState::Running { .. } => self.fence(turn, Purpose::Retry),
            TurnState::AwaitingTools { .. } | TurnState::Settled(_) | TurnState::Finalized(_) => {
                self.answer_from_head(turn);
            }
        }
    }

    /// Stores the results before the head that names them (I10).
    pub(super) fn store_results(&mut self, results: Results, write: Arc<Write>) {
        insert(&mut self.state.results, results);
        self.process().state = ProcessState::Sending { write, continuation: Continuation::Resume };
    }
}
