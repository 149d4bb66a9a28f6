//! Resume: the client sent the results a suspended turn waits for.

use contracts::{Fingerprint, Timestamp};

use super::{Illegal, take::abandoned_at};
use crate::{
    change::{Condition, TurnChange},
    id::AttemptId,
    timing::Timing,
    turn::{AcceptedResults, Stage, State, Turn},
};

/// Goes on with a suspended turn. The results are stored under `owner` before this is written.
///
/// # Errors
/// When the turn does not await tool results.
pub fn resume(
    turn: &Turn,
    attempt: AttemptId,
    results: Fingerprint,
    now: Timestamp,
    timing: &Timing,
) -> Result<TurnChange, Illegal> {
    let State::AwaitingTools { round, .. } = turn.state else {
        return Err(Illegal { from: turn.state.phase() });
    };
    let lease_ends = now.after(timing.lease);
    let after = Turn {
        attempt: attempt.clone(),
        due: Some(abandoned_at(lease_ends, timing)),
        accepted: Some(AcceptedResults {
            round,
            results,
            suspended_by: turn.attempt.clone(),
            resumed_by: attempt.clone(),
        }),
        state: State::Running { lease_ends, stage: Stage { round, attempts: vec![attempt] } },
        ..turn.clone()
    };
    Ok(TurnChange { condition: Condition::of_attempt(turn), after })
}
