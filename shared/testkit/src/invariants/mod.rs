//! The invariants I1 to I16 over what happened and what is stored.
//!
//! One checker for every test: it knows nothing of faults, scenarios or planted bugs. The record holds
//! every write in order, so what must hold at every instant is checked at every instant.

mod answers;
mod attempts;
mod bounds;
mod payloads;
mod sessions;
mod tools;
mod turns;

use std::{collections::BTreeMap, fmt};

use agent::{outcome::Outcome, progress::Step, summary::summarize};
use bytes::Bytes;
use contracts::ToolContinuation;
use protocol::{
    detail::{Findings, Report},
    id::{AttemptId, TurnKey},
    payload::{Kind, Payload},
    timing::Timing,
    turn::{KnownBy, Turn},
};

pub use self::bounds::{open_turns, started_within};
use crate::{
    ledger::{Entry, Event},
    memory::Contents,
};

/// An invariant that did not hold.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// Its name in docs/lifecycle.md.
    pub invariant: &'static str,
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.what)
    }
}

pub(crate) fn violation(invariant: &'static str, what: impl Into<String>) -> Violation {
    Violation { invariant, what: what.into() }
}

/// What the checker goes by.
pub struct Evidence<'a> {
    /// Everything that happened.
    pub entries: &'a [Entry],
    /// What is stored.
    pub table: &'a Contents,
    pub objects: &'a BTreeMap<Payload, Bytes>,
    pub timing: &'a Timing,
    /// Where storage keeps an object.
    pub key: &'a dyn Fn(&Payload) -> Payload,
}

impl Evidence<'_> {
    /// Everything that is wrong, whatever the state: I1 to I6, I8 to I10 and the roll-ups. The bounds
    /// (I12, I16) need to know when faults stopped: [`open_turns`], [`started_within`].
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        turns::check(self, &mut found);
        answers::check(self, &mut found);
        attempts::check(self, &mut found);
        payloads::check(self, &mut found);
        sessions::check(self, &mut found);
        tools::check(self, &mut found);
        found
    }

    fn object(&self, turn: &TurnKey, kind: Kind) -> Option<&Bytes> {
        self.objects.get(&(self.key)(&Payload { turn: turn.clone(), kind }))
    }

    fn outcome(&self, turn: &TurnKey, writer: &AttemptId) -> Option<Outcome> {
        Outcome::from_json(self.object(turn, Kind::Outcome(writer.clone()))?).ok()
    }

    /// What the objects that a head names tell of what came of its turn.
    fn findings(&self, turn: &Turn) -> Option<Findings> {
        let found = self.found_by(turn);
        let Some(text) =
            turn.shown.and_then(|_| self.object(&turn.key, Kind::PartialAnswer(turn.attempt.clone())))
        else {
            return found;
        };
        let found = found.unwrap_or_default();
        let partial_answer = Some(summarize(&String::from_utf8_lossy(text)));
        Some(Findings { report: Report { partial_answer, ..found.report }, ..found })
    }

    fn found_by(&self, turn: &Turn) -> Option<Findings> {
        match turn.known_by()? {
            KnownBy::Outcome(writer) => self.outcome(&turn.key, writer).map(|outcome| outcome.findings()),
            KnownBy::Results(accepted) => {
                let step = self.outcome(&turn.key, &accepted.suspended_by)?.into_step()?;
                let results = self.object(&turn.key, Kind::ToolResults(accepted.resumed_by.clone()))?;
                let results = ToolContinuation::from_canonical(results).ok()?.tool_results;
                let progress = step.progress.answered(&results, accepted.results);
                Some(Step { progress, ..step }.findings())
            }
            KnownBy::Step(recorded) => {
                let step = self.object(&turn.key, Kind::Step(recorded.by.clone(), recorded.step))?;
                serde_json::from_slice(step).ok().map(|step: Step| step.findings())
            }
        }
    }

    /// The heads' history, oldest first.
    fn heads(&self) -> impl Iterator<Item = (usize, &Entry, Option<&Turn>, &Turn)> {
        self.entries.iter().enumerate().filter_map(|(index, entry)| match &entry.event {
            Event::Head { before, after } => Some((index, entry, before.as_ref(), after)),
            _ => None,
        })
    }
}
