//! Sweep: decides on overdue turns (I12).

use std::time::Duration;

use contracts::Timestamp;

use super::{settle, take_over};
use crate::{
    change::{Condition, TurnChange},
    timing::Timing,
    turn::{MAX_TAKEOVERS, State, Turn},
};

/// The sweep's action on a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Do nothing: the turn is terminal or not due.
    Skip,
    /// Move the due time of a live turn.
    Reschedule(TurnChange),
    /// Have the turn queue continue the turn, if its approvals are answered or its attempt died. The change moves the due
    /// time, and comes first, so that messages don't pile up behind a busy queue.
    Continue(TurnChange),
    /// Fence the turn, look for an outcome and settle: its attempts died and no client retried.
    Salvage,
    /// Settle the turn as failed: its tool results did not come.
    End(TurnChange),
    /// Finalize the settled turn: its announcement was lost.
    Finalize,
}

/// The time by which a turn that failed is moved: the interval of the sweep.
const POSTPONED_BY: Duration = Duration::from_secs(60);

/// The time after which the sweep gives up on a dead turn that the turn queue doesn't continue.
const CONTINUED_FOR: Duration = Duration::from_secs(60 * 60);

/// Returns the time from which the sweep acts on a running turn with this lease end. A client gets time to retry first.
#[must_use]
pub fn overdue_at(turn: &Turn, lease_ends: Timestamp, timing: &Timing) -> Timestamp {
    match turn.is_unattended() {
        true => take_over::takeover_after(lease_ends, timing),
        false => take_over::abandoned_at(lease_ends, timing),
    }
}

/// True if the turn queue can continue a turn whose attempt died.
fn may_continue(turn: &Turn, lease_ends: Timestamp, now: Timestamp) -> bool {
    turn.is_unattended() && turn.takeovers < MAX_TAKEOVERS && now < lease_ends.after(CONTINUED_FOR)
}

/// Moves the due time of a turn that the sweep failed to process. `None` for a terminal turn, and for one that awaits
/// tools: its due time is its deadline, which only an unreachable table fails, or has been moved already.
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
        State::AwaitingTools { deadline, is_for_approval, .. } => {
            match settle::end_overdue(turn, now, timing) {
                Some(end) => Action::End(end),
                None if *is_for_approval && is_due(turn, now) => {
                    let due = now.after(timing.abandon_grace).min(*deadline);
                    Action::Continue(moved(turn, Condition::same_owner(turn), due))
                }
                None => Action::Skip,
            }
        }
        State::Running { lease_ends, .. } => {
            let overdue_at = overdue_at(turn, *lease_ends, timing);
            let same = Condition::same_lease(turn);
            match overdue_at <= now {
                true if !may_continue(turn, *lease_ends, now) => Action::Salvage,
                true if is_due(turn, now) => {
                    Action::Continue(moved(turn, same, now.after(timing.abandon_grace)))
                }
                false if is_due(turn, now) => Action::Reschedule(moved(turn, same, overdue_at)),
                true | false => Action::Skip,
            }
        }
    }
}

fn is_due(turn: &Turn, now: Timestamp) -> bool {
    turn.due.is_none_or(|due| due <= now)
}

fn moved(turn: &Turn, condition: Condition, due: Timestamp) -> TurnChange {
    TurnChange { condition, after: Turn { due: Some(due), ..turn.clone() } }
}
