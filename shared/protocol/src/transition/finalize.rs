//! Finalize: the only transition that makes a status terminal, together with the session's roll-up.

use super::{IllegalTransition, spend};
use crate::{
    change::{Commit, Condition, SessionChange, TurnChange},
    detail::{ModeChange, ModeChangePosition, OutcomeSummary, Participant, Report, ResultDetail},
    effect::UnknownEffect,
    session::{ChainHead, Contexts, LastTurn, Session, add_cost},
    turn::{Settlement, State, Turn, Verdict},
    usage::UsageEntry,
    webhook::Delivery,
};

/// A finalization: the turn that becomes terminal and the session that shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finalization {
    /// The session after the change, with its `Rev` incremented.
    pub session: Session,
    /// The change of the turn's head.
    pub turn: TurnChange,
    /// The result of the turn.
    pub result: ResultDetail,
    /// The last activity of the turn's user. `None` if the item has it already.
    pub activity: Option<Participant>,
    /// The staged mode changes of the completed turn, in order.
    pub mode_changes: Vec<ModeChange>,
    /// The usage of the turn. `None` if an import brought it, so that it was used elsewhere.
    pub usage: Option<UsageEntry>,
    /// The turn's calls with an unknown outcome.
    pub unknown_effects: Vec<UnknownEffect>,
    /// The turn's events for webhooks.
    pub deliveries: Vec<Delivery>,
}

/// Makes a settled turn terminal. A turn of a purged session only counts: the session stays the tombstone that it is.
///
/// `outcome` is the content of the object that [`Turn::outcome_writer`] names. For a turn that was ended from
/// outside, that is the last suspension's object, which has the usage up to then.
///
/// # Errors
/// Returns an error if the turn is not settled, if what it has spent isn't final ([`seal`](super::spend::seal)), or if its
/// session is purged and the tombstone does not name it: it was counted before, or the tombstone is the reservation of an
/// import.
pub fn finalize(
    session: &Session,
    turn: &Turn,
    outcome: Option<&OutcomeSummary>,
) -> Result<Finalization, IllegalTransition> {
    let State::Settled(settlement) = &turn.state else {
        return Err(IllegalTransition { from: turn.state.phase() });
    };
    // An open figure may still change, and is counted once.
    if spend::is_open(turn) {
        return Err(IllegalTransition { from: turn.state.phase() });
    }
    let report = report(turn, &settlement.verdict, outcome);
    let purged = session.is_purged();
    if purged && session.open_turn.as_ref() != Some(&turn.key.turn) {
        return Err(IllegalTransition { from: turn.state.phase() });
    }
    Ok(Finalization {
        usage: (!turn.is_imported).then(|| UsageEntry::new(session, turn, settlement, &report)),
        session: if purged {
            accounted(session)
        } else {
            roll_up(session, turn, settlement, outcome, &report)
        },
        turn: TurnChange {
            condition: Condition::same_owner(turn),
            after: Turn { due: None, state: State::Finalized(settlement.clone()), ..turn.clone() },
        },
        result: ResultDetail { key: turn.key.clone(), report },
        activity: activity(turn).filter(|_| !purged),
        mode_changes: if purged { Vec::new() } else { mode_changes(session, turn, settlement, outcome) },
        unknown_effects: Vec::new(),
        deliveries: Vec::new(),
    })
}

impl Finalization {
    /// Adds the turn's calls with an unknown outcome. A purged session has no later turn that could repeat one.
    #[must_use]
    pub fn with_unknown_effects(self, unknown_effects: Vec<UnknownEffect>) -> Self {
        let unknown_effects = if self.session.is_purged() { Vec::new() } else { unknown_effects };
        Self { unknown_effects, ..self }
    }

    /// Adds the turn's events for webhooks.
    #[must_use]
    pub fn with_deliveries(self, deliveries: Vec<Delivery>) -> Self {
        Self { deliveries, ..self }
    }

    /// Returns the transaction of a finalization that is not part of a start.
    #[must_use]
    pub fn commit(self, session_as_read: &Session) -> Commit {
        let session = SessionChange { condition: Some(session_as_read.rev), after: self.session.clone() };
        let mut commit = Commit::new(session);
        self.add_to(&mut commit);
        commit
    }

    /// Adds everything but the session to a transaction that finalizes the turn.
    pub(super) fn add_to(self, commit: &mut Commit) {
        commit.turns.push(self.turn);
        // A purge that has searched for data for the last time would leave it behind.
        commit.result = Some(self.result).filter(|_| !self.session.is_purged());
        commit.activity = self.activity;
        commit.mode_changes = self.mode_changes;
        commit.unknown_effects = self.unknown_effects;
        commit.deliveries = self.deliveries;
        commit.usage = self.usage.into_iter().collect();
    }
}

/// Returns the last activity of a turn's user, which orders that user's list of sessions. The session's first turn wrote
/// it with the session, except in a fork, which exists before its first turn.
fn activity(turn: &Turn) -> Option<Participant> {
    let is_written = turn.sequence == 1 && turn.base_depth == 0;
    (!is_written).then(|| Participant {
        session: turn.key.session.clone(),
        user: turn.requested_by.clone(),
        name: None,
        last_activity: turn.created,
    })
}

/// Returns the report of a settled turn for the table. Readers use the same before it is finalized. A turn that was
/// ended from outside keeps the report of its last step or suspension without the parts that belong to an answer. Its
/// usage is what its head says, because that includes the calls after the step.
#[must_use]
pub fn report(turn: &Turn, verdict: &Verdict, outcome: Option<&OutcomeSummary>) -> Report {
    match verdict {
        Verdict::Completed { .. } | Verdict::Failed { .. } => {
            outcome.map(|outcome| outcome.report.clone()).unwrap_or_default()
        }
        Verdict::Ended(reason) => {
            let report = Report {
                errors: vec![reason.error().message],
                answer_summary: None,
                answer_summary_truncated: false,
                chain_expires: None,
                last_raw_payload: None,
                ..outcome.map(|outcome| outcome.report.clone()).unwrap_or_default()
            };
            turn.spent.iter().fold(report, Report::with_spent)
        }
    }
}

/// Returns the session as it shows a settled turn before it is finalized, from the turn's head alone. Lists use it.
#[must_use]
pub fn project(session: &Session, turn: &Turn) -> Session {
    match turn.settlement() {
        Some(settlement) => with_settlement(session, turn, settlement),
        None => session.clone(),
    }
}

fn with_settlement(session: &Session, turn: &Turn, settlement: &Settlement) -> Session {
    let mut after = session.clone();
    after.last_activity = session.last_activity.max(settlement.at);
    if let Some(last) = after.last_turn.as_mut().filter(|last| last.id == turn.key.turn) {
        *last = LastTurn { status: settlement.verdict.status(), at: settlement.at, id: last.id.clone() };
    }
    after
}

/// Returns a tombstone that no longer names the turn that it named, nor its agent.
fn accounted(tombstone: &Session) -> Session {
    let rev = tombstone.rev.saturating_add(1);
    Session { rev, open_turn: None, contexts: Contexts::default(), ..tombstone.clone() }
}

fn roll_up(
    session: &Session,
    turn: &Turn,
    settlement: &Settlement,
    outcome: Option<&OutcomeSummary>,
    report: &Report,
) -> Session {
    let mut after = with_settlement(session, turn, settlement);
    after.rev = session.rev.saturating_add(1);
    // Only the turn that the session names as open may clear it (rule 11).
    if session.open_turn.as_ref() == Some(&turn.key.turn) {
        after.open_turn = None;
    }
    after.usage = session.usage.saturating_add(report.usage.unwrap_or_default());
    after.costs = add_cost(after.costs, report.cost.as_ref());
    // A failed turn's knowledge of the provider is valid, too.
    after.stateless_provider = report.stateless_provider.clone().or(after.stateless_provider);
    if let (Verdict::Completed { .. }, Some(outcome)) = (&settlement.verdict, outcome) {
        // A turn that stored nothing at the provider ends the chain: earlier responses lack the turn.
        after.chain = chain_head(&outcome.report);
        // The completed turn becomes the parent of the next one. After a rerun, the session continues from the rerun.
        after.tip = None;
        // Only a tool changes the session's mode. A rerun's own mode holds for that turn alone.
        if let Some(staged) = outcome.modes.last() {
            after.mode.clone_from(&staged.mode);
        }
    }
    after
}

/// Returns the response chain that a completed turn left at its provider, if any.
#[must_use]
pub fn chain_head(report: &Report) -> Option<ChainHead> {
    Some(ChainHead {
        response_id: report.response_id.clone()?,
        model: report.model.clone().unwrap_or_default(),
        provider: report.provider.clone(),
        mode: report.chain_mode.clone(),
        solution: report.chain_solution,
        context_tokens: report.context_tokens,
        expires: report.chain_expires?,
    })
}

fn mode_changes(
    session: &Session,
    turn: &Turn,
    settlement: &Settlement,
    outcome: Option<&OutcomeSummary>,
) -> Vec<ModeChange> {
    let (Verdict::Completed { .. }, Some(outcome)) = (&settlement.verdict, outcome) else {
        return Vec::new();
    };
    let staged = &outcome.modes;
    let before = std::iter::once(&session.mode).chain(staged.iter().map(|staged| &staged.mode));
    // A change to the current mode is not a change.
    let changes = before.zip(staged).filter(|(before, staged)| **before != staged.mode);
    changes
        .zip(0..)
        .map(|((before, staged), number)| ModeChange {
            key: turn.key.clone(),
            position: ModeChangePosition { sequence: turn.sequence, number },
            previous: before.clone(),
            new: staged.mode.clone(),
            reason: staged.reason.clone(),
            branch: staged.branch,
            at: staged.at,
            by: turn.requested_by.clone(),
        })
        .collect()
}
