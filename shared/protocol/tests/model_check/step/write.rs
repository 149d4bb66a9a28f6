//! Writes: sent, perhaps applied, and read back when nobody knows (I11).

use std::sync::Arc;

use protocol::{
    change::{Commit, Condition, TurnChange},
    purge::Stage,
    turn::{Phase, State as Standing, Turn},
};

use super::Step;
use crate::{
    cast::number,
    coverage::Event,
    model::How,
    rules::Rule,
    scene::Role,
    state::{At, Broken, Then, Write},
};

impl Step<'_> {
    /// Sends a write.
    pub(super) fn send(&mut self, write: Arc<Write>, then: Then, how: How) {
        let applied = match how {
            How::Unsent => Some(false),
            _ if !self.apply(&write) => None,
            How::ReplyLost => Some(true),
            _ => return self.resolved(&write, then, Ok(())),
        };
        if matches!(how, How::Unsent | How::ReplyLost) {
            self.state.faults.replies -= 1;
        }
        if applied.is_none() && !self.model.scene.fine {
            self.read_back(write, then, applied);
        } else {
            self.process().at = At::ReadingBack { write, then, applied };
        }
    }

    /// Finds out what a write came to. `applied` is what nobody knows, for the figures alone; none when
    /// its condition failed.
    pub(super) fn read_back(&mut self, write: Arc<Write>, then: Then, applied: Option<bool>) {
        let Some(witness) = write.witness() else { return self.read_session_back(write, then, applied) };
        let stored = self.state.turn(number(&witness.after.key.turn)).cloned();
        let shows = stored.as_deref().is_some_and(|stored| witness.was_applied(stored));
        if shows {
            let held = witness.condition.holds(stored.as_deref());
            let moved =
                stored.as_deref().is_some_and(|stored| stored.state.phase() == witness.after.state.phase());
            if applied == Some(false) && held && !moved {
                self.state.breaks(Broken::AppliedInThought);
            }
            if applied == Some(true) {
                self.note(Event::LostReplyApplied);
            }
            if applied.is_none() && then == Then::Finalized {
                self.note(Event::FinalizedElsewhere);
            }
            self.resolved(&write, then, Ok(()));
        } else if applied.is_none() || !witness.condition.holds(stored.as_deref()) {
            if applied == Some(true) {
                self.note(Event::LostReplyOvertaken);
            }
            self.resolved(&write, then, Err(stored));
        } else {
            self.note(Event::LostReplySentAgain);
            self.process().at = At::Sending { write, then };
        }
    }

    /// The same of a write on the session alone: it tells for itself.
    fn read_session_back(&mut self, write: Arc<Write>, then: Then, applied: Option<bool>) {
        let Write::Commit(commit) = write.as_ref() else { return };
        let stored = self.state.session.as_deref();
        if stored == Some(&commit.session.after) {
            self.resolved(&write, then, Ok(()));
        } else if applied.is_none() || stored.map(|stored| stored.rev) != commit.session.condition {
            self.resolved(&write, then, Err(None));
        } else {
            self.process().at = At::Sending { write, then };
        }
    }

    /// Goes on, knowing.
    fn resolved(&mut self, write: &Arc<Write>, then: Then, result: Result<(), Option<Arc<Turn>>>) {
        let Some(TurnChange { after, .. }) = write.witness() else {
            return match result {
                Ok(()) => self.kept(write),
                Err(_) => self.decide_keep(),
            };
        };
        let turn = number(&after.key.turn);
        match (then, result) {
            (Then::Kept, Ok(())) => self.kept(write),
            (Then::Kept, Err(_)) => {
                self.note(Event::DeleteLost);
                self.decide_keep();
            }
            (then @ (Then::Begun | Then::Resumed), Ok(())) => {
                if then == Then::Resumed {
                    self.note(Event::Resumed);
                }
                self.process().at = At::Thinking { turn: Arc::new(after.clone()) };
            }
            (Then::SupersededFirst { session }, Ok(())) => self.begin(Some(session), None),
            (Then::Begun, Err(_)) => {
                self.note(Event::StartLost);
                self.look_again();
            }
            (Then::Resumed | Then::SupersededFirst { .. }, Err(_)) => self.look_again(),
            (Then::Fenced { purpose, looked: None }, Ok(())) => {
                self.process().at = At::Fenced { turn: Arc::new(after.clone()), purpose };
            }
            (Then::Fenced { purpose, looked: Some(found) }, Ok(())) => {
                self.found(&Arc::new(after.clone()), purpose, found);
            }
            (Then::Fenced { .. }, Err(_)) => self.go_on_after_salvage(turn),
            (Then::Decided { answer }, Ok(())) => {
                self.announce(turn);
                self.tell(turn, answer);
            }
            (Then::Decided { answer }, Err(stored)) => {
                self.note(Event::LostSettle);
                match stored {
                    _ if self.is_out(Rule::LoserAnswersWithWhatStands) => self.tell(turn, answer),
                    Some(stored) => self.what_stands(&stored),
                    None => {}
                }
            }
            (Then::DecidedTaken, result) => {
                // A start that salvaged another turn folds it at once: nobody needs to be told.
                let own = self.request().is_none_or(|(asked, _)| asked == turn);
                if own && result.is_ok() && self.role() != &Role::Sweep {
                    self.announce(turn);
                }
                self.go_on_after_salvage(turn);
            }
            (Then::Renewed { work }, Ok(())) => {
                self.note(Event::Renewed);
                self.process().at = *work;
            }
            (Then::Renewed { .. }, Err(stored)) => {
                self.note(Event::RenewalLost);
                if let Some(stored) = stored {
                    self.what_stands(&stored);
                }
            }
            (Then::MovedDue, result) => {
                if result.is_ok() {
                    self.note(Event::DueMoved);
                }
            }
            (Then::EndedOverdue, result) => {
                if result.is_ok() {
                    self.note(Event::ToolDeadline);
                }
                self.start_finalizing(turn);
            }
            (Then::EndedLate, Ok(())) => {
                self.note(Event::TooLate);
                self.announce(turn);
                self.what_stands(&Arc::new(after.clone()));
            }
            (Then::EndedLate, Err(_)) => self.look_at_results(),
            (Then::Finalized, Ok(())) => {}
            (Then::Finalized, Err(_)) => self.start_finalizing(turn),
            (Then::Cancelled, Ok(())) => {
                self.note(Event::CancelWon);
                self.announce(turn);
                self.confirm_cancel(turn);
            }
            (Then::Cancelled, Err(_)) => self.decide_cancel(turn),
        }
    }

    /// Applies a write if its conditions hold, all of it or nothing.
    pub(crate) fn apply(&mut self, write: &Write) -> bool {
        match write {
            Write::Turn { change, take } => {
                let stored = self.state.turn(number(&change.after.key.turn)).cloned();
                let holds = if *take && self.is_out(Rule::TakeAsRead) {
                    stored.as_ref().is_some_and(|stored| stored.state.phase() == Phase::Running)
                } else {
                    change.condition.holds(stored.as_deref())
                };
                if !holds {
                    return false;
                }
                if *take && stored.is_some_and(|stored| Self::is_held(&stored, self.state.now)) {
                    self.state.breaks(Broken::LiveLeaseTaken);
                }
                self.put_head(change);
            }
            Write::Commit(commit) => {
                let holds = |change: &TurnChange| {
                    change.condition.holds(self.state.turn(number(&change.after.key.turn)).map(Arc::as_ref))
                };
                if !self.session_stands(commit) || !commit.turns.iter().all(holds) {
                    return false;
                }
                self.note_commit(commit);
                let begins = commit.turns.iter().any(|change| change.condition == Condition::Absent);
                if self.state.is_purged() && (begins || !commit.session.after.is_purged()) {
                    self.state.breaks(Broken::CameBack);
                }
                // A record that waits is left out: it changes nothing until the retention is over.
                if let Some(purge) = commit.purge.as_ref().filter(|purge| purge.stage != Stage::Waiting) {
                    self.state.purge = Some(Arc::new(purge.clone()));
                }
                let deleted = self.state.session.as_ref().is_some_and(|session| session.deleted.is_some());
                if deleted && commit.session.after.deleted.is_none() && !commit.turns.is_empty() {
                    self.state.breaks(Broken::Undeleted);
                }
                for change in &commit.turns {
                    self.put_head(change);
                }
                self.state.session = Some(Arc::new(commit.session.after.clone()));
                if let Some(ended) = &commit.result {
                    let turn = number(&ended.key.turn);
                    let head = self.state.turn(turn).cloned();
                    self.state.details[usize::from(turn)] = head.and_then(|head| self.answer_of(&head));
                }
            }
        }
        true
    }

    /// Rule 4, or what is left of it.
    fn session_stands(&self, commit: &Commit) -> bool {
        match (&self.state.session, commit.session.condition) {
            (None, None) => true,
            (Some(stored), Some(_)) if self.is_out(Rule::SessionRev) => {
                stored.turn_count == commit.session.after.turn_count - u64::from(commit.request.is_some())
            }
            (Some(stored), Some(rev)) => stored.rev == rev,
            (None, Some(_)) | (Some(_), None) => false,
        }
    }

    fn note_commit(&self, commit: &Commit) {
        if commit.request.is_some() && commit.turns.len() == 2 {
            self.note(if commit.result.is_some() { Event::Superseded } else { Event::Folded });
        }
        if commit.request.is_some() && commit.turns[0].after.chain.previous_response_id().is_some() {
            self.note(Event::Chained);
        }
        if !commit.mode_changes.is_empty() {
            self.note(Event::ModeChanged);
        }
    }

    /// Writes a head, and holds the change against what no change may do.
    fn put_head(&mut self, change: &TurnChange) {
        let after = &change.after;
        let turn = number(&after.key.turn);
        match self.state.turn(turn).cloned() {
            None => {
                let there = self.state.turns.iter().flatten().count() as u64;
                if after.sequence != there + 1 {
                    self.state.breaks(Broken::OutOfOrder);
                }
            }
            Some(before) => {
                let fixed = |turn: &Turn| (turn.sequence, turn.fingerprint, turn.created, turn.chain.clone());
                if fixed(&before) != fixed(after) {
                    self.state.breaks(Broken::IdentityChanged);
                }
                if matches!(before.state, Standing::Finalized(_)) {
                    self.state.breaks(Broken::TerminalChanged);
                }
                if before.settlement().is_some() && before.settlement() != after.settlement() {
                    self.state.breaks(Broken::DecisionChanged);
                }
            }
        }
        self.state.turns[usize::from(turn)] = Some(Arc::new(after.clone()));
    }
}
