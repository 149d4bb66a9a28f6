//! Finalize: the only transition that makes a status terminal, together with the session's roll-up.

use super::Illegal;
use crate::{
    change::{Commit, Condition, SessionChange, TurnChange},
    detail::{Findings, ModeChange, ModePlace, Report, ResultDetail, StagedMode},
    session::{ChainHead, LastTurn, Session, costs_with},
    turn::{Settlement, State, Turn, Verdict},
};

/// Why a mode changed that no tool changed.
const RERUN_IN_MODE: &str = "A turn was run again in this mode.";

/// A turn that becomes terminal and the session that shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finalized {
    /// The session afterwards, its `Rev` raised.
    pub session: Session,
    /// The head's change.
    pub turn: TurnChange,
    /// What came of the turn.
    pub result: ResultDetail,
    /// The mode changes that the completed turn had staged, in order.
    pub mode_changes: Vec<ModeChange>,
}

/// Makes a settled turn terminal.
///
/// `found` is what the object that [`Turn::outcome_writer`] names holds: of a turn ended from outside it is the last
/// suspension's, which tells what the turn had used by then.
///
/// # Errors
/// When the turn is not settled, or terminal already.
pub fn finalize(session: &Session, turn: &Turn, found: Option<&Findings>) -> Result<Finalized, Illegal> {
    let State::Settled(settlement) = &turn.state else {
        return Err(Illegal { from: turn.state.phase() });
    };
    // What is purged shows nothing.
    if session.is_purged() {
        return Err(Illegal { from: turn.state.phase() });
    }
    Ok(Finalized {
        session: rolled_up(session, turn, settlement, found),
        turn: TurnChange {
            condition: Condition::of_attempt(turn),
            after: Turn { due: None, state: State::Finalized(settlement.clone()), ..turn.clone() },
        },
        result: ResultDetail { key: turn.key.clone(), report: report(&settlement.verdict, found) },
        mode_changes: mode_changes(session, turn, settlement, found),
    })
}

impl Finalized {
    /// The transaction of a finalization on its own.
    #[must_use]
    pub fn commit(self, session_as_read: &Session) -> Commit {
        Commit {
            turns: vec![self.turn],
            mode_changes: self.mode_changes,
            ..Commit::on(SessionChange { condition: Some(session_as_read.rev), after: self.session })
        }
    }
}

/// What the table keeps of a settled turn. The reader uses the same, before it is finalized. A turn that was
/// ended from outside keeps what its last suspension knew, but for what an answer alone has.
#[must_use]
pub fn report(verdict: &Verdict, found: Option<&Findings>) -> Report {
    match verdict {
        Verdict::Completed { .. } | Verdict::Failed { .. } => {
            found.map(|found| found.report.clone()).unwrap_or_default()
        }
        Verdict::Ended(reason) => Report {
            errors: vec![reason.error().message],
            answer_summary: None,
            answer_is_cut: false,
            chain_expires: None,
            raw_payloads: None,
            ..found.map(|found| found.report.clone()).unwrap_or_default()
        },
    }
}

/// What a session shows of a turn that is decided, as far as the turn's head alone tells: so lists have it before the
/// turn is finalized.
#[must_use]
pub fn showing(session: &Session, turn: &Turn) -> Session {
    match turn.settlement() {
        Some(settlement) => decided(session, turn, settlement),
        None => session.clone(),
    }
}

fn decided(session: &Session, turn: &Turn, settlement: &Settlement) -> Session {
    let mut after = session.clone();
    after.last_activity = session.last_activity.max(settlement.at);
    if let Some(last) = after.last_turn.as_mut().filter(|last| last.id == turn.key.turn) {
        *last = LastTurn { status: settlement.verdict.status(), at: settlement.at, id: last.id.clone() };
    }
    after
}

fn rolled_up(session: &Session, turn: &Turn, settlement: &Settlement, found: Option<&Findings>) -> Session {
    let mut after = decided(session, turn, settlement);
    after.rev = session.rev.saturating_add(1);
    // Only the turn that the session names as open may close it (rule 11).
    if session.open_turn.as_ref() == Some(&turn.key.turn) {
        after.open_turn = None;
    }
    if let Some(found) = found {
        after.usage = session.usage.plus(found.report.usage.unwrap_or_default());
        after.costs = costs_with(after.costs, found.report.cost.as_ref());
        // Of a failed turn too: what it found out about the provider holds all the same.
        after.keeps_no_chain = found.report.keeps_no_chain.clone().or(after.keeps_no_chain);
    }
    if let (Verdict::Completed { .. }, Some(found)) = (&settlement.verdict, found) {
        // A turn that left nothing with the provider ends the chain: what came before lacks it.
        after.chain = chain_head(&found.report);
        // The next turn goes on from this one, also from a rerun: with it the session goes another way.
        after.tip = None;
        after.mode.clone_from(found.modes.last().map_or(&turn.mode, |staged| &staged.mode));
    }
    after
}

/// What a completed turn left with its provider, to go on from.
#[must_use]
pub fn chain_head(report: &Report) -> Option<ChainHead> {
    Some(ChainHead {
        response_id: report.response_id.clone()?,
        model: report.model.clone().unwrap_or_default(),
        provider: report.provider.clone(),
        told_mode: report.told_mode.clone(),
        told_solution: report.told_solution,
        expires: report.chain_expires?,
    })
}

fn mode_changes(
    session: &Session,
    turn: &Turn,
    settlement: &Settlement,
    found: Option<&Findings>,
) -> Vec<ModeChange> {
    let (Verdict::Completed { .. }, Some(found)) = (&settlement.verdict, found) else {
        return Vec::new();
    };
    // A rerun begins in a mode of its own, which its session is in from then on unless a tool changes it.
    let begun = [StagedMode {
        mode: turn.mode.clone(),
        reason: RERUN_IN_MODE.to_owned(),
        branch: false,
        at: turn.created,
    }];
    let staged = if found.modes.is_empty() { begun.as_slice() } else { &found.modes };
    let before = std::iter::once(&session.mode).chain(staged.iter().map(|staged| &staged.mode));
    // A change to the mode that is there already changes nothing.
    let changes = before.zip(staged).filter(|(before, staged)| **before != staged.mode);
    changes
        .zip(0..)
        .map(|((before, staged), number)| ModeChange {
            key: turn.key.clone(),
            place: ModePlace { sequence: turn.sequence, number },
            previous: before.clone(),
            new: staged.mode.clone(),
            reason: staged.reason.clone(),
            branch: staged.branch,
            at: staged.at,
            by: turn.requested_by.clone(),
        })
        .collect()
}
