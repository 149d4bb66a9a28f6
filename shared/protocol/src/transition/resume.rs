//! Resume: the client sent the results a suspended turn waits for.

use contracts::{Fingerprint, Timestamp};

use super::{Illegal, take::abandoned_at};
use crate::{
    change::{Given, TurnChange},
    id::Owner,
    timing::Timing,
    turn::{Answered, Stage, State, Turn},
};

/// Goes on with a suspended turn. The results are stored under `owner` before this is written.
///
/// # Errors
/// When the turn does not await tool results.
pub fn resume(
    turn: &Turn,
    owner: Owner,
    results: Fingerprint,
    now: Timestamp,
    timing: &Timing,
) -> Result<TurnChange, Illegal> {
    let State::AwaitingTools { round, .. } = turn.state else {
        return Err(Illegal { from: turn.state.phase() });
    };
    let lease_ends = now.after(timing.lease);
    let after = Turn {
        owner: owner.clone(),
        due: Some(abandoned_at(lease_ends, timing)),
        answered: Some(Answered {
            round,
            results,
            suspended_by: turn.owner.clone(),
            resumed_by: owner.clone(),
        }),
        state: State::Running { lease_ends, stage: Stage { round, writers: vec![owner] } },
        ..turn.clone()
    };
    Ok(TurnChange { given: Given::owner_of(turn), after })
}
