//! Purge: what is left of a purged session is removed, a piece a step (rule 12).

use std::sync::Arc;

use protocol::{
    purge::{DeleteOutcome, Purge, Stage},
    transition::purging::{self, Action},
};

use super::Step;
use crate::{
    cast::{at, timing},
    coverage::Event,
    rules::Rule,
};

impl Step<'_> {
    /// Removes the first piece that there is: items, then objects. Where nothing is left, the record says so. Whoever
    /// does so may stop after any step: the next one looks anew.
    pub(super) fn remove_next(&mut self) {
        let Some(record) = self.state.purge.clone() else { return };
        let now = at(self.state.now);
        let action = purging::action(self.state.session.as_deref(), &record, now, &timing());
        if action != Action::Remove || self.remove_piece() {
            return;
        }
        let after = match self.is_out(Rule::PurgeLooksAgain) {
            true => Purge { stage: Stage::Done, due: None, ..record.as_ref().clone() },
            false => purging::after_empty_pass(&record, DeleteOutcome::NoIndex, now, &timing()),
        };
        if after.stage == Stage::Done {
            self.note(Event::Purged);
            if self.is_out(Rule::PurgeLeavesTombstone) {
                self.state.session = None;
            }
        }
        self.state.purge = Some(Arc::new(after));
    }

    fn remove_piece(&mut self) -> bool {
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

    /// Whether the request is refused since there is no such session any more; what was stored of it goes.
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
