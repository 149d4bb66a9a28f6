//! Checks the invariants I1 to I16 and E1 to E5 over the ledger and the stored state.
//!
//! One checker serves every test. It doesn't know about faults, scenarios or planted bugs. The ledger contains every
//! write in order, so invariants that must always hold are checked at every point in time.

mod answers;
mod attempts;
mod bounds;
mod contexts;
mod effects;
mod meters;
mod payloads;
mod sessions;
mod tools;
mod turns;

use std::{collections::BTreeMap, fmt};

use agent::{attempt::RecoveryPoint, outcome::Outcome, text::excerpt::excerpt_of};
use bytes::Bytes;
use contracts::ToolContinuation;
use protocol::{
    detail::{OutcomeSummary, Report},
    id::{AttemptId, SessionKey, TurnKey},
    payload::{Kind, Payload},
    session::Session,
    timing::Timing,
    transition::finalize,
    turn::{EvidenceSource, Turn},
};

pub use self::bounds::{open_turns, started_within};
use crate::{
    ledger::{Entry, Event},
    memory::Contents,
};

/// A violated invariant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The invariant's name in docs/internals/correctness.md, or "rollout".
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

/// The input of the checker.
pub struct RunRecord<'a> {
    /// The events of the run.
    pub entries: &'a [Entry],
    /// The stored state.
    pub table: &'a Contents,
    pub objects: &'a BTreeMap<Payload, Bytes>,
    pub timing: &'a Timing,
    /// Maps an object to the key under which storage has it.
    pub key: &'a dyn Fn(&Payload) -> Payload,
}

impl RunRecord<'_> {
    /// Returns all violations of I1 to I6, I8 to I10, E1 to E5 and the session totals. The bounds (I12, I16) depend on the time
    /// at which faults stopped: [`open_turns`], [`started_within`].
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        turns::check(self, &mut found);
        answers::check(self, &mut found);
        attempts::check(self, &mut found);
        contexts::check(self, &mut found);
        effects::check(self, &mut found);
        payloads::check(self, &mut found);
        sessions::check(self, &mut found);
        meters::check(self, &mut found);
        tools::check(self, &mut found);
        found
    }

    /// Returns true for a purged session, and for an import that isn't published.
    fn is_purged(&self, session: &SessionKey) -> bool {
        self.table.sessions.get(session).is_some_and(Session::is_purged)
    }

    fn object(&self, turn: &TurnKey, kind: Kind) -> Option<&Bytes> {
        self.objects.get(&(self.key)(&Payload { turn: turn.clone(), kind }))
    }

    fn outcome(&self, turn: &TurnKey, writer: &AttemptId) -> Option<Outcome> {
        Outcome::from_json(self.object(turn, Kind::Outcome(writer.clone()))?).ok()
    }

    /// Summarizes a turn's outcome from the objects that its head names.
    fn findings(&self, turn: &Turn) -> Option<OutcomeSummary> {
        let found = self.found_by(turn);
        let Some(text) =
            turn.checkpoint.and_then(|_| self.object(&turn.key, Kind::PartialAnswer(turn.attempt.clone())))
        else {
            return found;
        };
        let found = found.unwrap_or_default();
        let partial_answer = Some(excerpt_of(&String::from_utf8_lossy(text)));
        Some(OutcomeSummary { report: Report { partial_answer, ..found.report }, ..found })
    }

    fn found_by(&self, turn: &Turn) -> Option<OutcomeSummary> {
        let (found, rounds) = self.recorded(turn).map_or((None, 0), |(found, rounds)| (Some(found), rounds));
        match self.open_round(turn) {
            Some(round) if round.state.rounds.count > rounds => Some(round.outcome_summary()),
            Some(_) | None => found,
        }
    }

    /// Summarizes the object that a turn's head names, with the number of its rounds.
    fn recorded(&self, turn: &Turn) -> Option<(OutcomeSummary, u32)> {
        let summarized = |step: RecoveryPoint| (step.outcome_summary(), step.state.rounds.count);
        match turn.evidence_source()? {
            EvidenceSource::Outcome(writer) => {
                let outcome = self.outcome(&turn.key, writer)?;
                let rounds = outcome.clone().into_recovery_point().map_or(0, |step| step.state.rounds.count);
                Some((outcome.outcome_summary(), rounds))
            }
            EvidenceSource::Results(accepted) => {
                let step = self.outcome(&turn.key, &accepted.suspended_by)?.into_recovery_point()?;
                let results = self.object(&turn.key, Kind::ToolResults(accepted.resumed_by.clone()))?;
                let results = ToolContinuation::from_canonical(results).ok()?;
                let state = step.state.with_tool_results(&results, accepted.results);
                Some(summarized(RecoveryPoint { state, ..step }))
            }
            EvidenceSource::Step(recorded) => {
                let step = self.object(&turn.key, Kind::Step(recorded.attempt.clone(), recorded.step))?;
                serde_json::from_slice(step).ok().map(summarized)
            }
        }
    }

    /// Returns the newest round with effects of a turn that was ended from outside in the middle of it, as it was before its
    /// calls. No head names the round, but its intent does.
    fn open_round(&self, turn: &Turn) -> Option<RecoveryPoint> {
        let rounds = (turn.key.clone(), 0)..=(turn.key.clone(), u32::MAX);
        let (_, intent) =
            self.table.intents.range(rounds).next_back().filter(|_| turn.may_have_open_calls())?;
        let round = self.object(&turn.key, Kind::Round(intent.attempt.clone(), intent.round))?;
        serde_json::from_slice(round).ok()
    }

    /// Returns the report of a turn that ended, as its finalization stores it.
    fn report(&self, turn: &Turn) -> Report {
        let found = self.findings(turn);
        match turn.settlement() {
            Some(settlement) => finalize::report(turn, &settlement.verdict, found.as_ref()),
            None => found.map(|found| found.report).unwrap_or_default(),
        }
    }

    /// Returns the history of heads, oldest first.
    fn heads(&self) -> impl Iterator<Item = (usize, &Entry, Option<&Turn>, &Turn)> {
        self.entries.iter().enumerate().filter_map(|(index, entry)| match &entry.event {
            Event::Head { before, after } => Some((index, entry, before.as_ref(), after)),
            _ => None,
        })
    }
}
