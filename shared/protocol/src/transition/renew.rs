//! Renew: the holder of a lease keeps it.

use contracts::Timestamp;

use super::Illegal;
use crate::{
    change::{Condition, TurnChange},
    turn::{State, Turn},
};

/// A lease until `lease_ends` for the owner of a running turn. Moves no index: the due time stays.
///
/// # Errors
/// When the turn does not run.
pub fn renew(turn: &Turn, lease_ends: Timestamp) -> Result<TurnChange, Illegal> {
    let State::Running { stage, .. } = &turn.state else {
        return Err(Illegal { from: turn.state.phase() });
    };
    let state = State::Running { lease_ends, stage: stage.clone() };
    Ok(TurnChange { condition: Condition::of_attempt(turn), after: Turn { state, ..turn.clone() } })
}
