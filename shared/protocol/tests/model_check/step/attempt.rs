//! An attempt: calls the model, stores the outcome, settles, and renews the lease meanwhile.

use std::sync::Arc;

use contracts::Usage;
use protocol::{
    change::{Condition, TurnChange},
    id::AttemptId,
    purge::ProviderResponseRef,
    spent::{MeteredUsage, PendingUsage, Spent},
    transition::{renew::renew, settle::settle, spend, suspend::suspend},
    turn::{EndReason, State as TurnState, Turn, Verdict},
};

use super::{Step, outcome_answer};
use crate::{
    coverage::Event,
    fixtures::{self, at, number, timing, tool_deadline},
    model::Choice,
    rules::Rule,
    state::{Answer, Continuation, End, Object, OutcomeKind, ProcessState, Violation, Write, insert},
};

impl Step<'_> {
    /// Calls the model.
    pub(super) fn call_model(&mut self, turn: Arc<Turn>, kind: OutcomeKind) {
        let number = number(&turn.key.turn);
        if self.is_duplicate_call(&turn) {
            self.state.record_violation(Violation::DuplicateModelCall);
        }
        self.state.model_calls[usize::from(number)] += 1;
        let text = self.state.model_calls[usize::from(number)];
        if self.is_disabled(Rule::ModeIsStaged)
            && self.model.config.stages_mode == Some(number)
            && let Some(session) = &mut self.state.session
        {
            Arc::make_mut(session).mode = fixtures::mode_of(number);
        }
        if self.is_disabled(Rule::OutcomeBeforeSettle) {
            let object = Object {
                turn: number,
                key: turn.attempt.clone(),
                writer: turn.attempt.clone(),
                text,
                kind,
                by_owner: true,
            };
            return self.settle_from(
                &turn,
                &turn.attempt,
                &object,
                Continuation::Decide { answer: outcome_answer(kind, text) },
            );
        }
        self.process().state = ProcessState::Storing { turn, kind, text };
    }

    /// True if the caller owns the turn and an earlier owner of this stage stored an outcome while it was the owner.
    /// That outcome was durable before the fence, so the caller could have found it (I9).
    fn is_duplicate_call(&self, turn: &Turn) -> bool {
        let owns =
            self.state.turn(number(&turn.key.turn)).is_some_and(|stored| stored.attempt == turn.attempt);
        let TurnState::Running { stage, .. } = &turn.state else { return false };
        owns && self.state.objects.iter().any(|object| {
            let earlier = object.writer != turn.attempt && stage.attempts.contains(&object.writer);
            object.turn == number(&turn.key.turn) && object.by_owner && earlier
        })
    }

    /// Stores the outcome under the attempt's id. An object that already exists counts as this one.
    pub(super) fn store(&mut self, turn: &Arc<Turn>, kind: OutcomeKind, text: u8, choice: Choice) {
        let key = number(&turn.key.turn);
        if choice == Choice::Fail {
            self.note(Event::Unstorable);
            let now = at(self.state.now);
            let verdict = Verdict::Ended(EndReason::StorageUnavailable);
            let change = settle(turn, verdict, now, now, &timing()).expect("the turn must run");
            let answer = Answer::Ended(End::StorageUnavailable);
            return self.prepare_send(change, Continuation::Decide { answer });
        }
        let by_owner = self.state.turn(key).is_some_and(|stored| {
            stored.attempt == turn.attempt && matches!(stored.state, TurnState::Running { .. })
        });
        if !by_owner {
            self.note(Event::LateOutcome);
        }
        let object = Object {
            turn: key,
            key: self.key_of(&turn.attempt),
            writer: turn.attempt.clone(),
            text,
            kind,
            by_owner,
        };
        if self.object(key, &turn.attempt).is_none() {
            insert(&mut self.state.objects, object.clone());
        }
        self.settle_from(
            turn,
            &turn.attempt,
            &object,
            Continuation::Decide { answer: outcome_answer(kind, text) },
        );
    }

    /// Settles or suspends by an outcome object.
    pub(super) fn settle_from(
        &mut self,
        turn: &Turn,
        writer: &AttemptId,
        object: &Object,
        continuation: Continuation,
    ) {
        let change = match fixtures::verdict(object, writer.clone()) {
            // The time of the model's answer decides nothing, and a single instant keeps the states few.
            Some(verdict) => settle(turn, verdict, at(0), at(self.state.now), &timing()),
            None => suspend(turn, writer.clone(), tool_deadline(self.state.now)),
        };
        self.prepare_send(change.expect("the turn must run"), continuation);
    }

    pub(super) fn prepare_send(&mut self, change: TurnChange, continuation: Continuation) {
        let write = Arc::new(Write::Turn { change, take: false });
        self.process().state = ProcessState::Sending { write, continuation };
    }

    /// Tells what the turn has spent, if it was ended meanwhile, and answers from the stored head.
    pub(super) fn tell_spent(&mut self, stored: &Arc<Turn>, attempt: &AttemptId) {
        let calls = self.state.model_calls[usize::from(number(&stored.key.turn))];
        // Figures cover the whole turn, so also what an outcome object tells.
        let told = u64::from(stored.outcome_writer().is_some());
        let usage = Usage { prompt_tokens: told, ..Usage::default() };
        let pending = self.model.config.pending_usage.then(|| {
            let response = ProviderResponseRef { provider: None, response_id: "cut off".to_owned() };
            Box::new(PendingUsage { response, estimate: MeteredUsage::default(), prices: None })
        });
        let spent = Spent { usage, model_calls: calls.into(), pending, ..Spent::default() };
        match spend::record(stored, attempt, spent) {
            Ok(mut change) => {
                if self.is_disabled(Rule::SpentIsFinalOnce) {
                    change.condition = Condition::same_owner(stored);
                }
                self.prepare_send(change, Continuation::Tell);
            }
            Err(_) => self.answer_from_head(stored),
        }
    }

    /// Renews the lease, and continues the work if it still holds the lease.
    pub(super) fn renew(&mut self, work: ProcessState) {
        let (ProcessState::CallingModel { turn } | ProcessState::Storing { turn, .. }) = &work else {
            return;
        };
        let change = renew(turn, at(self.state.now + 1)).expect("the turn must run");
        self.process().renewals += 1;
        self.prepare_send(change, Continuation::Renew { work: Box::new(work) });
    }
}
