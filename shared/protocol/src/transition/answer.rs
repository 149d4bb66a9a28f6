//! Answer: a person answered an approval that a suspended turn waits for.

use contracts::Timestamp;

use super::IllegalTransition;
use crate::{
    change::{Condition, TurnChange},
    timing::Timing,
    turn::{State, Turn},
};

/// Makes the sweep look at the turn soon. The answer is stored with this change, and a message announces it afterwards: if
/// that message is lost, the sweep sends another one. A turn that also waits for a client continues with its results.
///
/// # Errors
/// Returns an error if the turn isn't suspended.
pub fn answer(turn: &Turn, now: Timestamp, timing: &Timing) -> Result<TurnChange, IllegalTransition> {
    let State::AwaitingTools { deadline, is_for_approval, .. } = turn.state else {
        return Err(IllegalTransition { from: turn.state.phase() });
    };
    let soon = Some(now.after(timing.abandon_grace).min(deadline));
    let due = if is_for_approval { soon } else { turn.due };
    Ok(TurnChange { condition: Condition::same_owner(turn), after: Turn { due, ..turn.clone() } })
}
