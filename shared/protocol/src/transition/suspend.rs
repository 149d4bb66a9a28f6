//! Suspend: the model called client tools, so the turn waits for their results.

use contracts::Timestamp;

use super::Illegal;
use crate::{
    change::{Condition, TurnChange},
    turn::{State, Turn},
};

/// Suspends a running turn whose owner stored the calls in its outcome object.
///
/// `writer` is whose object that is: the owner's, or an earlier attempt's that a takeover found.
///
/// # Errors
/// When the turn does not run.
pub fn suspend(
    turn: &Turn,
    writer: crate::id::AttemptId,
    deadline: Timestamp,
) -> Result<TurnChange, Illegal> {
    let State::Running { stage, .. } = &turn.state else {
        return Err(Illegal { from: turn.state.phase() });
    };
    let round = stage.round.saturating_add(1);
    let after = Turn {
        attempt: writer.clone(),
        suspended_by: Some(writer),
        due: Some(deadline),
        state: State::AwaitingTools { round, deadline },
        ..turn.clone()
    };
    Ok(TurnChange { condition: Condition::of_attempt(turn), after })
}
