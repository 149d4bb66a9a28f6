//! Sweep: decides on overdue turns (I12).

use std::time::Duration;

use contracts::Timestamp;

use super::{settle, take_over};
use crate::{
    change::{Condition, TurnChange},
    timing::Timing,
    turn::{State, Turn},
};

/// The sweep's action on a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Do nothing: the turn is terminal or not due.
    Skip,
    /// Move the due time of a live turn.
    Reschedule(TurnChange),
    /// Fence the turn, look for an outcome and settle: its attempts died and no client retried.
    Salvage,
    /// Settle the turn as failed: its tool results did not come.
    End(TurnChange),
    /// Finalize the settled turn: its announcement was lost.
    Finalize,
}

/// The time by which a turn that failed is moved: the interval of the sweep.
const POSTPONED_BY: Duration = Duration::from_secs(60);

/// Moves the due time of a turn that the sweep failed to process. `None` for a terminal turn, and for one that awaits
/// tools: its due time is its deadline, and only an unreachable table fails its end.
#[must_use]
pub fn postpone(turn: &Turn, now: Timestamp) -> Option<TurnChange> {
    let condition = match &turn.state {
        State::Finalized(_) | State::AwaitingTools { .. } => return None,
        State::Running { .. } => Condition::same_lease(turn),
        State::Settled(_) => Condition::same_owner(turn),
    };
    Some(TurnChange { condition, after: Turn { due: Some(now.after(POSTPONED_BY)), ..turn.clone() } })
}

/// Decides by the head as read, not by the index entry that nominated the turn (rule 9).
#[must_use]
pub fn action(turn: &Turn, now: Timestamp, timing: &Timing) -> Action {
    match &turn.state {
        State::Finalized(_) => Action::Skip,
        State::Settled(_) => Action::Finalize,
        State::AwaitingTools { .. } => {
            settle::end_overdue(turn, now, timing).map_or(Action::Skip, Action::End)
        }
        State::Running { lease_ends, .. } => {
            let abandoned_at = take_over::abandoned_at(*lease_ends, timing);
            if abandoned_at <= now {
                return Action::Salvage;
            }
            if turn.due.is_some_and(|due| now < due) {
                return Action::Skip;
            }
            let after = Turn { due: Some(abandoned_at), ..turn.clone() };
            Action::Reschedule(TurnChange { condition: Condition::same_lease(turn), after })
        }
    }
}
