//! Settle: the one irrevocable decision about a turn (I1).

use contracts::Timestamp;

use super::Illegal;
use crate::{
    change::{Condition, TurnChange},
    timing::Timing,
    turn::{Phase, Reason, Settlement, State, Turn, Verdict},
};

/// Settles a running turn from the outcome object of `verdict`'s writer, or for want of one.
/// Only its owner may: the condition says so.
///
/// # Errors
/// When the turn does not run.
pub fn settle(
    turn: &Turn,
    verdict: Verdict,
    at: Timestamp,
    now: Timestamp,
    timing: &Timing,
) -> Result<TurnChange, Illegal> {
    match turn.state {
        State::Running { .. } => Ok(decided(turn, verdict, at, now, timing)),
        State::AwaitingTools { .. } | State::Settled(_) | State::Finalized(_) => {
            Err(Illegal { from: turn.state.phase() })
        }
    }
}

/// Ends an open turn from outside: a cancel while it runs or awaits, a new turn while it awaits.
///
/// # Errors
/// When the turn is already settled.
pub fn end(turn: &Turn, reason: Reason, now: Timestamp, timing: &Timing) -> Result<TurnChange, Illegal> {
    match turn.state.phase() {
        Phase::Running | Phase::AwaitingTools => Ok(decided(turn, Verdict::Ended(reason), now, now, timing)),
        from @ (Phase::Settled | Phase::Finalized) => Err(Illegal { from }),
    }
}

/// Ends a turn whose client's tools have not answered by their deadline, whoever finds out first: the sweep,
/// or results that come too late. None for any other turn, and while there is time.
#[must_use]
pub fn overdue(turn: &Turn, now: Timestamp, timing: &Timing) -> Option<TurnChange> {
    match turn.state {
        State::AwaitingTools { deadline, .. } if deadline <= now => {
            Some(decided(turn, Verdict::Ended(Reason::ToolDeadline), now, now, timing))
        }
        State::Running { .. } | State::AwaitingTools { .. } | State::Settled(_) | State::Finalized(_) => None,
    }
}

/// A turn that ran stays due when it was: its place in the index need not be written anew. One that awaited tools
/// may have been due much later.
fn decided(turn: &Turn, verdict: Verdict, at: Timestamp, now: Timestamp, timing: &Timing) -> TurnChange {
    let due = match turn.state {
        State::Running { .. } => turn.due,
        State::AwaitingTools { .. } | State::Settled(_) | State::Finalized(_) => None,
    };
    let due = due.or_else(|| Some(now.after(timing.settled_grace)));
    let state = State::Settled(Settlement { verdict, at });
    TurnChange { condition: Condition::of_attempt(turn), after: Turn { state, due, ..turn.clone() } }
}
