//! Tool results: exact or nothing (I6).
//!
//! The order of effects is that of `flow/tool_results.rs`: read, end the turn if it is too late, compare, store the results under a fresh attempt id,
//! resume on the condition that nothing moved.

use std::sync::Arc;

use protocol::{
    transition::{resume::resume, settle::end_overdue, take_over::Purpose},
    turn::{State as Standing, Turn},
};

use super::Step;
use crate::{
    cast::{self, at, number, timing},
    coverage::Event,
    rules::Rule,
    scene::Role,
    state::{Answer, At, Results, Then, Write, insert},
};

impl Step<'_> {
    /// Reads the turn that the results are for, and decides.
    pub(super) fn look_at_results(&mut self) {
        let Role::Tools { turn: asked, results } = self.role() else { return };
        let (asked, results) = (*asked, results.clone());
        let call = usize::from(self.process().calls).saturating_sub(1);
        let (says, exact) = results[call];
        let told = self.state.told.iter().filter_map(|told| match told.answer {
            Answer::Calls(text) if told.turn == asked => Some(text),
            _ => None,
        });
        // Results that are not exact answer no call that there is.
        let calls = if exact { told.max().unwrap_or(0) } else { 0 };
        let fingerprint = cast::results_fingerprint(calls, says);
        if self.is_refused_as_purged() {
            return;
        }
        let Some(turn) = self.state.turn(asked).cloned() else { return };
        if let Some(end) = end_overdue(&turn, at(self.state.now), &timing()) {
            return self.will_send(end, Then::EndedLate);
        }
        if turn.accepted_results.as_ref().is_some_and(|answered| answered.results == fingerprint) {
            self.note(Event::ResumedAgain);
            return self.results_again(&turn);
        }
        if !matches!(turn.state, Standing::AwaitingTools { .. }) {
            return self.note(Event::OtherResults);
        }
        let pending = self.object(asked, &turn.attempt).map(|object| object.text);
        if pending != Some(calls) && !self.is_out(Rule::ResultsMatchExactly) {
            return self.note(Event::Mismatch);
        }
        let attempt = self.attempt_id(1);
        let change = resume(&turn, attempt.clone(), fingerprint, at(self.state.now), &timing());
        let write = Arc::new(Write::Turn { change: change.expect("it awaits results"), take: false });
        let results = Results { turn: asked, attempt, calls, says };
        self.process().at = At::StoringResults { results, write };
    }

    /// The same results came before: what the turn came to since, or another attempt at it.
    fn results_again(&mut self, turn: &Arc<Turn>) {
        match &turn.state {
            Standing::Running { .. } if Self::is_held(turn, self.state.now) => {
                self.process().at = At::Waiting { turn: number(&turn.key.turn) };
            }
            Standing::Running { .. } => self.fence(turn, Purpose::Retry),
            Standing::AwaitingTools { .. } | Standing::Settled(_) | Standing::Finalized(_) => {
                self.what_stands(turn);
            }
        }
    }

    /// Stores the results before the head that names them (I10).
    pub(super) fn store_results(&mut self, results: Results, write: Arc<Write>) {
        insert(&mut self.state.results, results);
        self.process().at = At::Sending { write, then: Then::Resumed };
    }
}
