//! Renew: extends the lease of its holder.

use contracts::Timestamp;

use super::IllegalTransition;
use crate::{
    change::{Condition, TurnChange},
    turn::{State, Turn},
};

/// Extends the owner's lease on a running turn to `lease_ends`. The due time stays, so no index moves.
///
/// # Errors
/// Returns an error if the turn does not run.
pub fn renew(turn: &Turn, lease_ends: Timestamp) -> Result<TurnChange, IllegalTransition> {
    let State::Running { stage, .. } = &turn.state else {
        return Err(IllegalTransition { from: turn.state.phase() });
    };
    let state = State::Running { lease_ends, stage: stage.clone() };
    Ok(TurnChange { condition: Condition::same_owner(turn), after: Turn { state, ..turn.clone() } })
}
