//! Suspend: the model called client tools, so the turn waits for their results; or a call has to be approved first.

use contracts::Timestamp;

use super::IllegalTransition;
use crate::{
    change::{Condition, TurnChange},
    turn::{State, Turn},
};

/// Suspends a running turn whose owner stored the calls in its outcome object.
///
/// `writer` is the attempt that wrote the object: the owner, or an earlier attempt whose object a takeover found.
///
/// # Errors
/// Returns an error if the turn does not run.
pub fn suspend(
    turn: &Turn,
    writer: crate::id::AttemptId,
    deadline: Timestamp,
) -> Result<TurnChange, IllegalTransition> {
    let State::Running { stage, .. } = &turn.state else {
        return Err(IllegalTransition { from: turn.state.phase() });
    };
    let round = stage.round.saturating_add(1);
    let after = Turn {
        attempt: writer.clone(),
        suspended_by: Some(writer),
        spent: None,
        due: Some(deadline),
        state: State::AwaitingTools { round, deadline, is_for_approval: false },
        ..turn.clone()
    };
    Ok(TurnChange { condition: Condition::same_owner(turn), after })
}

/// Suspends a running turn as [`suspend`] does, until people have answered the approvals of its calls, or the last of them
/// expires. The sweep continues it from then on, and ends it at the deadline.
///
/// # Errors
/// Returns an error if the turn does not run.
pub fn suspend_for_approval(
    turn: &Turn,
    writer: crate::id::AttemptId,
    expires: Timestamp,
    deadline: Timestamp,
) -> Result<TurnChange, IllegalTransition> {
    let mut change = suspend(turn, writer, deadline)?;
    change.after.due = Some(expires.min(deadline));
    if let State::AwaitingTools { is_for_approval, .. } = &mut change.after.state {
        *is_for_approval = true;
    }
    Ok(change)
}
