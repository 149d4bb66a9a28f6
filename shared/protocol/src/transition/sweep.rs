//! Sweep: what an overdue turn needs (I12).

use contracts::Timestamp;

use super::{settle, take};
use crate::{
    change::{Condition, TurnChange},
    timing::Timing,
    turn::{State, Turn},
};

/// What the sweep does with a turn it was pointed at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Nothing: it is terminal, or not due after all.
    Leave,
    /// It lives: look again later.
    MoveDue(TurnChange),
    /// Its attempts died and nobody came back: fence, look for an outcome, settle.
    Salvage,
    /// The tool results did not come: settle it as failed.
    End(TurnChange),
    /// It is settled, but its announcement was lost: finalize it.
    Finalize,
}

/// Decides by the head as read, not by the index that nominated it (rule 9).
#[must_use]
pub fn action(turn: &Turn, now: Timestamp, timing: &Timing) -> Action {
    match &turn.state {
        State::Finalized(_) => Action::Leave,
        State::Settled(_) => Action::Finalize,
        State::AwaitingTools { .. } => settle::overdue(turn, now, timing).map_or(Action::Leave, Action::End),
        State::Running { lease_ends, .. } => {
            let abandoned_at = take::abandoned_at(*lease_ends, timing);
            if abandoned_at <= now {
                return Action::Salvage;
            }
            if turn.due.is_some_and(|due| now < due) {
                return Action::Leave;
            }
            let after = Turn { due: Some(abandoned_at), ..turn.clone() };
            Action::MoveDue(TurnChange { condition: Condition::lease_of(turn), after })
        }
    }
}
