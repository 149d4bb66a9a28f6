//! Purge: removes the data of a purged session, one entry per step (rule 12).

use std::sync::Arc;

use protocol::{
    purge::{DeleteOutcome, Purge, Stage},
    transition::purging::{self, Action},
};

use super::Step;
use crate::{
    coverage::Event,
    fixtures::{at, number, timing},
    rules::Rule,
};

impl Step<'_> {
    /// Finalizes the turn that was open at the start. Then removes the first remaining entry: items first, then objects.
    /// If none is left, the record says so. The process may stop after any step, since the next one reads anew.
    pub(super) fn remove_next(&mut self) {
        let Some(record) = self.state.purge.clone() else { return };
        let now = at(self.state.now);
        let (session, open) = (self.state.session.as_deref(), self.state.open_turn());
        match purging::action(session, open, &record, now, &timing()) {
            Action::Finalize(turn) if !self.is_disabled(Rule::PurgeCountsOpenTurn) => {
                self.note(Event::PurgeFinalizes);
                return self.start_finalizing(number(&turn));
            }
            Action::Finalize(_) | Action::Remove => {}
            _ => return,
        }
        if self.remove_entry() {
            return;
        }
        let after = match self.is_disabled(Rule::PurgeLooksAgain) {
            true => Purge { stage: Stage::Done, due: None, ..record.as_ref().clone() },
            false => purging::after_empty_pass(&record, DeleteOutcome::NoIndex, now, &timing()),
        };
        if after.stage == Stage::Done {
            self.note(Event::Purged);
            if self.is_disabled(Rule::PurgeLeavesTombstone) {
                self.state.session = None;
            }
        }
        self.state.purge = Some(Arc::new(after));
    }

    fn remove_entry(&mut self) -> bool {
        let again = self.state.purge.as_ref().is_some_and(|record| record.stage == Stage::Rechecking);
        let removed = if let Some(head) = self.state.turns.iter_mut().find(|head| head.is_some()) {
            *head = None;
            true
        } else if let Some(detail) = self.state.details.iter_mut().find(|detail| detail.is_some()) {
            *detail = None;
            true
        } else if !self.state.objects.is_empty() {
            self.state.objects.remove(0);
            true
        } else if !self.state.results.is_empty() {
            self.state.results.remove(0);
            true
        } else if !self.state.instructions.is_empty() {
            self.state.instructions.remove(0);
            true
        } else {
            false
        };
        if removed && again {
            self.note(Event::PurgedLate);
        }
        removed
    }

    /// True if the request is refused because the session is purged. The stored request is removed then.
    pub(super) fn is_refused_as_purged(&mut self) -> bool {
        let purged = self.state.session.as_ref().is_some_and(|session| session.is_purged());
        if purged {
            self.note(Event::RefusedAsPurged);
            if let Some((turn, body)) = self.request() {
                self.state.instructions.retain(|stored| (stored.turn, stored.body) != (turn, body));
            }
        }
        purged
    }
}
