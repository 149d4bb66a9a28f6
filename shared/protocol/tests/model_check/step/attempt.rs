//! An attempt: ask the model, store the outcome, settle; keep the lease meanwhile.

use std::sync::Arc;

use protocol::{
    change::TurnChange,
    id::AttemptId,
    transition::{renew::renew, settle::settle, suspend::suspend},
    turn::{EndReason, State as Standing, Turn, Verdict},
};

use super::{Step, says};
use crate::{
    cast::{self, at, number, timing, tool_deadline},
    coverage::Event,
    model::How,
    rules::Rule,
    state::{Answer, At, Broken, End, Object, Said, Then, Write, insert},
};

impl Step<'_> {
    /// Asks the model.
    pub(super) fn think(&mut self, turn: Arc<Turn>, said: Said) {
        let number = number(&turn.key.turn);
        if self.pays_twice(&turn) {
            self.state.breaks(Broken::PaidTwice);
        }
        self.state.model_calls[usize::from(number)] += 1;
        let text = self.state.model_calls[usize::from(number)];
        if self.is_out(Rule::ModeIsStaged)
            && self.model.scene.stages_mode == Some(number)
            && let Some(session) = &mut self.state.session
        {
            Arc::make_mut(session).mode = cast::mode_of(number);
        }
        if self.is_out(Rule::OutcomeBeforeSettle) {
            let object = Object {
                turn: number,
                key: turn.attempt.clone(),
                writer: turn.attempt.clone(),
                text,
                said,
                by_owner: true,
            };
            return self.decide_by(&turn, &turn.attempt, &object, Then::Decided { answer: says(said, text) });
        }
        self.process().at = At::Storing { turn, said, text };
    }

    /// Whether the caller owns the turn, and an earlier owner of this stage stored an outcome while it was
    /// the owner: that one was durable before the fence, so it was there to be found (I9).
    fn pays_twice(&self, turn: &Turn) -> bool {
        let owns =
            self.state.turn(number(&turn.key.turn)).is_some_and(|stored| stored.attempt == turn.attempt);
        let Standing::Running { stage, .. } = &turn.state else { return false };
        owns && self.state.objects.iter().any(|object| {
            let earlier = object.writer != turn.attempt && stage.attempts.contains(&object.writer);
            object.turn == number(&turn.key.turn) && object.by_owner && earlier
        })
    }

    /// Stores the outcome under the attempt's attempt id; an object that is there already counts as this one.
    pub(super) fn store(&mut self, turn: &Arc<Turn>, said: Said, text: u8, how: How) {
        let key = number(&turn.key.turn);
        if how == How::Fail {
            self.note(Event::Unstorable);
            let now = at(self.state.now);
            let verdict = Verdict::Ended(EndReason::StorageUnavailable);
            let change = settle(turn, verdict, now, now, &timing()).expect("it runs");
            let answer = Answer::Ended(End::StorageUnavailable);
            return self.will_send(change, Then::Decided { answer });
        }
        let by_owner = self.state.turn(key).is_some_and(|stored| {
            stored.attempt == turn.attempt && matches!(stored.state, Standing::Running { .. })
        });
        if !by_owner {
            self.note(Event::LateOutcome);
        }
        let object = Object {
            turn: key,
            key: self.key_of(&turn.attempt),
            writer: turn.attempt.clone(),
            text,
            said,
            by_owner,
        };
        if self.object(key, &turn.attempt).is_none() {
            insert(&mut self.state.objects, object.clone());
        }
        self.decide_by(turn, &turn.attempt, &object, Then::Decided { answer: says(said, text) });
    }

    /// Settles or suspends by an outcome object.
    pub(super) fn decide_by(&mut self, turn: &Turn, writer: &AttemptId, object: &Object, then: Then) {
        let change = match cast::verdict(object, writer.clone()) {
            // When the model answered decides nothing, and one instant for all keeps the states few.
            Some(verdict) => settle(turn, verdict, at(0), at(self.state.now), &timing()),
            None => suspend(turn, writer.clone(), tool_deadline(self.state.now)),
        };
        self.will_send(change.expect("it runs"), then);
    }

    pub(super) fn will_send(&mut self, change: TurnChange, then: Then) {
        let write = Arc::new(Write::Turn { change, take: false });
        self.process().at = At::Sending { write, then };
    }

    /// Renews the lease, and goes on with the work if it still holds it.
    pub(super) fn renew(&mut self, work: At) {
        let (At::Thinking { turn } | At::Storing { turn, .. }) = &work else { return };
        let change = renew(turn, at(self.state.now + 1)).expect("it runs");
        self.process().renewals += 1;
        self.will_send(change, Then::Renewed { work: Box::new(work) });
    }
}
