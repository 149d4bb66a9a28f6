//! Settle: the single irrevocable decision about a turn (I1).

use contracts::{Timestamp, id::UserId};

use super::IllegalTransition;
use crate::{
    change::{Condition, TurnChange},
    timing::Timing,
    turn::{EndReason, Phase, Settlement, State, Turn, Verdict},
};

/// Settles a running turn from the outcome object of `verdict`'s writer, or without one. The condition lets only the
/// owner do so.
///
/// # Errors
/// Returns an error if the turn does not run.
pub fn settle(
    turn: &Turn,
    verdict: Verdict,
    at: Timestamp,
    now: Timestamp,
    timing: &Timing,
) -> Result<TurnChange, IllegalTransition> {
    match turn.state {
        State::Running { .. } => Ok(settled(turn, verdict, at, now, timing)),
        State::AwaitingTools { .. } | State::Settled(_) | State::Finalized(_) => {
            Err(IllegalTransition { from: turn.state.phase() })
        }
    }
}

/// Ends an open turn from outside: by a cancel while it runs or awaits tool results, or by a new turn while it awaits
/// them.
///
/// # Errors
/// Returns an error if the turn is already settled.
pub fn end(
    turn: &Turn,
    reason: EndReason,
    now: Timestamp,
    timing: &Timing,
) -> Result<TurnChange, IllegalTransition> {
    match turn.state.phase() {
        Phase::Running | Phase::AwaitingTools => Ok(settled(turn, Verdict::Ended(reason), now, now, timing)),
        from @ (Phase::Settled | Phase::Finalized) => Err(IllegalTransition { from }),
    }
}

/// Ends a turn whose tool results missed their deadline. Either the sweep or late results notice this. Returns `None`
/// for any other turn and before the deadline.
#[must_use]
pub fn end_overdue(turn: &Turn, now: Timestamp, timing: &Timing) -> Option<TurnChange> {
    match turn.state {
        State::AwaitingTools { deadline, .. } if deadline <= now => {
            Some(settled(turn, Verdict::Ended(EndReason::ToolDeadline), now, now, timing))
        }
        State::Running { .. } | State::AwaitingTools { .. } | State::Settled(_) | State::Finalized(_) => None,
    }
}

/// A turn that ran keeps its due time, so its index entry need not be rewritten. One that awaited tools may have been
/// due much later.
fn settled(turn: &Turn, verdict: Verdict, at: Timestamp, now: Timestamp, timing: &Timing) -> TurnChange {
    let due = match turn.state {
        State::Running { .. } => turn.due,
        State::AwaitingTools { .. } | State::Settled(_) | State::Finalized(_) => None,
    };
    let due = due.or_else(|| Some(now.after(timing.settled_grace)));
    // An outcome object has the usage of its turn.
    let spent = turn.spent.clone().filter(|_| verdict.writer().is_none());
    let state = State::Settled(Settlement { verdict, at });
    TurnChange { condition: Condition::same_owner(turn), after: Turn { state, due, spent, ..turn.clone() } }
}

/// Cancels the open turn of a session that accepts no more, for whoever closed it. A settled turn keeps its outcome.
pub(super) fn cancel_open(
    open: Option<&Turn>,
    by: &UserId,
    now: Timestamp,
    timing: &Timing,
) -> Vec<TurnChange> {
    let ended = open.and_then(|open| end(open, EndReason::Cancelled, now, timing).ok());
    ended.map(|change| change.ended_by(by)).into_iter().collect()
}
