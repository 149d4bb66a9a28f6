//! Writes: sent, perhaps applied, and read back if the result is unknown (I11).

use std::sync::Arc;

use protocol::{
    change::{Commit, Condition, TurnChange},
    purge::Stage,
    turn::{Phase, State as TurnState, Turn},
};

use super::Step;
use crate::{
    config::Role,
    coverage::Event,
    fixtures::number,
    model::Choice,
    rules::Rule,
    state::{Continuation, ProcessState, Violation, Write},
};

impl Step<'_> {
    /// Sends a write.
    pub(super) fn send(&mut self, write: Arc<Write>, continuation: Continuation, choice: Choice) {
        let applied = match choice {
            Choice::Unsent => Some(false),
            _ if !self.apply(&write) => None,
            Choice::ReplyLost => Some(true),
            _ => return self.resolved(&write, continuation, Ok(())),
        };
        if matches!(choice, Choice::Unsent | Choice::ReplyLost) {
            self.state.faults.replies -= 1;
        }
        if applied.is_none() && !self.model.config.fine_grained {
            self.read_back(write, continuation, applied);
        } else {
            self.process().state = ProcessState::ReadingBack { write, continuation, applied };
        }
    }

    /// Determines the result of a write. `applied` is unknown to the process and serves the coverage only. `None` if
    /// the condition failed.
    pub(super) fn read_back(&mut self, write: Arc<Write>, continuation: Continuation, applied: Option<bool>) {
        let Some(witness) = write.witness() else {
            return self.read_session_back(write, continuation, applied);
        };
        let stored = self.state.turn(number(&witness.after.key.turn)).cloned();
        let expected_events = stored.as_deref().is_some_and(|stored| witness.was_applied(stored));
        if expected_events {
            let held = witness.condition.holds(stored.as_deref());
            let moved =
                stored.as_deref().is_some_and(|stored| stored.state.phase() == witness.after.state.phase());
            if applied == Some(false) && held && !moved {
                self.state.record_violation(Violation::FalselyApplied);
            }
            if applied == Some(true) {
                self.note(Event::LostReplyApplied);
            }
            if applied.is_none() && continuation == Continuation::Finalize {
                self.note(Event::FinalizedElsewhere);
            }
            self.resolved(&write, continuation, Ok(()));
        } else if applied.is_none() || !witness.condition.holds(stored.as_deref()) {
            if applied == Some(true) {
                self.note(Event::LostReplyOvertaken);
            }
            self.resolved(&write, continuation, Err(stored));
        } else {
            self.note(Event::LostReplySentAgain);
            self.process().state = ProcessState::Sending { write, continuation };
        }
    }

    /// Reads back a write of the session alone, which the session itself proves.
    fn read_session_back(&mut self, write: Arc<Write>, continuation: Continuation, applied: Option<bool>) {
        let commit = match write.as_ref() {
            Write::Commit(commit) => commit,
            Write::Restore { .. } => return self.restore_again(write, continuation, applied),
            Write::Turn { .. } => return,
        };
        let stored = self.state.session.as_deref();
        if stored == Some(&commit.session.after) {
            self.resolved(&write, continuation, Ok(()));
        } else if applied.is_none() || stored.map(|stored| stored.rev) != commit.session.condition {
            self.resolved(&write, continuation, Err(None));
        } else {
            self.process().state = ProcessState::Sending { write, continuation };
        }
    }

    /// Continues after the result of a write is known.
    fn resolved(
        &mut self,
        write: &Arc<Write>,
        continuation: Continuation,
        result: Result<(), Option<Arc<Turn>>>,
    ) {
        let Some(TurnChange { after, .. }) = write.witness() else {
            return match (continuation, result) {
                (
                    continuation @ (Continuation::Reserve
                    | Continuation::RestoreHead { .. }
                    | Continuation::PublishImport),
                    result,
                ) => self.after_import_write(write, continuation, result.is_ok()),
                (_, Ok(())) => self.after_edit(write),
                (_, Err(_)) => self.decide_edit(),
            };
        };
        let turn = number(&after.key.turn);
        match (continuation, result) {
            // Their writes have no witness.
            (Continuation::Reserve | Continuation::RestoreHead { .. } | Continuation::PublishImport, _) => {}
            (Continuation::EditSession, Ok(())) => self.after_edit(write),
            (Continuation::EditSession, Err(_)) => {
                self.note(Event::DeleteLost);
                self.decide_edit();
            }
            (continuation @ (Continuation::Begin | Continuation::Resume), Ok(())) => {
                if continuation == Continuation::Resume {
                    self.note(Event::Resumed);
                }
                self.process().state = ProcessState::CallingModel { turn: Arc::new(after.clone()) };
            }
            (Continuation::SupersedeFirst { session }, Ok(())) => self.begin(Some(session), None),
            (Continuation::Begin, Err(_)) => {
                self.note(Event::StartLost);
                self.restart_read();
            }
            (Continuation::Resume | Continuation::SupersedeFirst { .. }, Err(_))
            | (Continuation::SealFirst, _) => self.restart_read(),
            (Continuation::Fence { purpose, prefetched: None }, Ok(())) => {
                self.process().state = ProcessState::Fenced { turn: Arc::new(after.clone()), purpose };
            }
            (Continuation::Fence { purpose, prefetched: Some(found) }, Ok(())) => {
                self.after_fence(&Arc::new(after.clone()), purpose, found);
            }
            (Continuation::Fence { .. }, Err(_)) => self.continue_after_salvage(turn),
            (Continuation::Decide { answer }, Ok(())) => {
                self.announce(turn);
                self.answer_client(turn, answer);
            }
            (Continuation::Decide { answer }, Err(stored)) => {
                self.note(Event::LostSettle);
                match stored {
                    _ if self.is_disabled(Rule::LoserAnswersFromHead) => self.answer_client(turn, answer),
                    Some(stored) => self.tell_spent(&stored, &after.attempt),
                    None => {}
                }
            }
            (Continuation::DecideTaken, result) => {
                // A start that salvaged another turn folds it at once, so no message is needed.
                let own = self.request().is_none_or(|(requested, _)| requested == turn);
                if own && result.is_ok() && self.role() != &Role::Sweep {
                    self.announce(turn);
                }
                self.continue_after_salvage(turn);
            }
            (Continuation::Renew { work }, Ok(())) => {
                self.note(Event::Renewed);
                self.process().state = *work;
            }
            (Continuation::Renew { .. }, Err(stored)) => {
                self.note(Event::RenewalLost);
                if let Some(stored) = stored {
                    self.tell_spent(&stored, &after.attempt);
                }
            }
            (Continuation::Tell, result) => {
                self.note(if result.is_ok() { Event::SpentTold } else { Event::ToldTooLate });
                if let Some(stored) = self.state.turn(turn).cloned() {
                    self.answer_from_head(&stored);
                }
            }
            (Continuation::Seal, result) => {
                if result.is_ok() {
                    self.note(Event::SpentSealed);
                }
                self.start_finalizing(turn);
            }
            (Continuation::MoveDue, result) => {
                if result.is_ok() {
                    self.note(Event::DueMoved);
                }
            }
            (Continuation::EndOverdue, result) => {
                if result.is_ok() {
                    self.note(Event::ToolDeadline);
                }
                self.start_finalizing(turn);
            }
            (Continuation::EndLate, Ok(())) => {
                self.note(Event::TooLate);
                self.announce(turn);
                self.answer_from_head(&Arc::new(after.clone()));
            }
            (Continuation::EndLate, Err(_)) => self.decide_results(),
            (Continuation::Finalize, Ok(())) => {}
            (Continuation::Finalize, Err(_)) => self.start_finalizing(turn),
            (Continuation::Cancel, Ok(())) => {
                self.note(Event::CancelWon);
                self.announce(turn);
                self.confirm_cancel(turn);
            }
            (Continuation::Cancel, Err(_)) => self.decide_cancel(turn),
        }
    }

    /// Applies a write if its conditions hold, all of it or nothing.
    pub(crate) fn apply(&mut self, write: &Write) -> bool {
        match write {
            Write::Turn { change, take } => {
                let stored = self.state.turn(number(&change.after.key.turn)).cloned();
                let holds = if *take && self.is_disabled(Rule::TakeAsRead) {
                    stored.as_ref().is_some_and(|stored| stored.state.phase() == Phase::Running)
                } else {
                    change.condition.holds(stored.as_deref())
                };
                if !holds {
                    return false;
                }
                if *take && stored.is_some_and(|stored| Self::is_held(&stored, self.state.now)) {
                    self.state.record_violation(Violation::LiveLeaseTaken);
                }
                self.put_head(change);
            }
            Write::Restore { reservation, head } => return self.apply_restore(reservation, head),
            Write::Commit(commit) => {
                let holds = |change: &TurnChange| {
                    change.condition.holds(self.state.turn(number(&change.after.key.turn)).map(Arc::as_ref))
                };
                if !self.session_condition_holds(commit) || !commit.turns.iter().all(holds) {
                    return false;
                }
                self.note_commit(commit);
                let begins = commit.turns.iter().any(|change| change.condition == Condition::Absent);
                let restores = commit.purge.as_ref().is_some_and(|purge| purge.stage == Stage::Done);
                if self.state.is_purged() && (begins || !restores && !commit.session.after.is_purged()) {
                    self.state.record_violation(Violation::PurgeUndone);
                }
                // A waiting record is left out: it changes nothing until the retention ends.
                if let Some(purge) = commit.purge.as_ref().filter(|purge| purge.stage != Stage::Waiting) {
                    self.state.purge = Some(Arc::new(purge.clone()));
                }
                let closed =
                    self.state.session.as_ref().is_some_and(|session| session.ensure_open().is_err());
                if closed && commit.session.after.ensure_open().is_ok() && !commit.turns.is_empty() {
                    self.state.record_violation(Violation::DeletionUndone);
                }
                for change in &commit.turns {
                    self.put_head(change);
                }
                self.state.session = Some(Arc::new(commit.session.after.clone()));
                for change in
                    commit.turns.iter().filter(|change| !commit.usage.is_empty() && is_terminal(change))
                {
                    self.count(&change.after, commit);
                }
                if let Some(ended) = &commit.result {
                    let turn = number(&ended.key.turn);
                    let head = self.state.turn(turn).cloned();
                    let answer = head.and_then(|head| self.answer_of(&head));
                    let stored = std::mem::replace(&mut self.state.details[usize::from(turn)], answer);
                    if stored.is_some() && stored != answer && !self.state.is_purged() {
                        self.state.record_violation(Violation::DecisionChanged);
                    }
                }
            }
        }
        true
    }

    /// Adds the usage of a turn that becomes terminal.
    fn count(&mut self, turn: &Turn, commit: &Commit) {
        let counted: u64 = commit.usage.iter().map(|entry| entry.amounts.usage.prompt_tokens).sum();
        if counted != u64::from(turn.outcome_writer().is_some()) {
            self.state.record_violation(Violation::Miscounted);
        }
        self.state.counted[usize::from(number(&turn.key.turn))] += 1;
    }

    /// Checks rule 4, or its replacement if the rule is disabled.
    fn session_condition_holds(&self, commit: &Commit) -> bool {
        match (&self.state.session, commit.session.condition) {
            (None, None) => true,
            (Some(stored), Some(_)) if self.is_disabled(Rule::SessionRev) => {
                stored.turn_count == commit.session.after.turn_count - u64::from(commit.request.is_some())
            }
            (Some(stored), Some(rev)) => stored.rev == rev,
            (None, Some(_)) | (Some(_), None) => false,
        }
    }

    fn note_commit(&self, commit: &Commit) {
        if commit.request.is_some()
            && let Some(closed) = commit.turns.get(1)
        {
            let settled = matches!(closed.condition, Condition::Unchanged { phase: Phase::Settled, .. });
            self.note(if settled { Event::Folded } else { Event::Superseded });
        }
        if commit.request.is_some() && commit.turns[0].after.chain.previous_response_id().is_some() {
            self.note(Event::Chained);
        }
        if !commit.mode_changes.is_empty() {
            self.note(Event::ModeChanged);
        }
    }

    /// Writes a head, and checks the change for violations.
    pub(super) fn put_head(&mut self, change: &TurnChange) {
        let after = &change.after;
        let turn = number(&after.key.turn);
        match self.state.turn(turn).cloned() {
            None => {
                let stored = self.state.turns.iter().flatten().count() as u64;
                if after.sequence != stored + 1 {
                    self.state.record_violation(Violation::OutOfOrder);
                }
            }
            Some(before) => {
                let fixed = |turn: &Turn| (turn.sequence, turn.fingerprint, turn.created, turn.chain.clone());
                if fixed(&before) != fixed(after) {
                    self.state.record_violation(Violation::IdentityChanged);
                }
                if matches!(before.state, TurnState::Finalized(_)) {
                    self.state.record_violation(Violation::TerminalChanged);
                }
                if before.settlement().is_some() && before.settlement() != after.settlement() {
                    self.state.record_violation(Violation::DecisionChanged);
                }
                let is_final = before.spent.as_ref().is_some_and(|spent| spent.is_final);
                if before.settlement().is_some() && is_final && before.spent != after.spent {
                    self.state.record_violation(Violation::SpentChanged);
                }
            }
        }
        self.state.turns[usize::from(turn)] = Some(Arc::new(after.clone()));
    }
}

fn is_terminal(change: &TurnChange) -> bool {
    matches!(change.after.state, TurnState::Finalized(_))
}
