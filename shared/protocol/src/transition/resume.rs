//! Resume: the client sent the results a suspended turn waits for.

use contracts::{Fingerprint, Timestamp};

use super::{Illegal, take::abandoned_at};
use crate::{
    change::{Condition, TurnChange},
    id::AttemptId,
    timing::Timing,
    turn::{AcceptedResults, Stage, State, Turn},
};

/// Why results are not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The turn does not await any.
    #[error(transparent)]
    Illegal(#[from] Illegal),
    /// Their deadline is past: [`overdue`](super::settle::overdue) ends the turn.
    #[error("the deadline of the tool results is past")]
    Late,
}

/// Goes on with a suspended turn. The results are stored under `attempt` before this is written.
///
/// # Errors
/// When the turn does not await tool results, or no longer.
pub fn resume(
    turn: &Turn,
    attempt: AttemptId,
    results: Fingerprint,
    now: Timestamp,
    timing: &Timing,
) -> Result<TurnChange, Refused> {
    let State::AwaitingTools { round, deadline } = turn.state else {
        return Err(Illegal { from: turn.state.phase() }.into());
    };
    if deadline <= now {
        return Err(Refused::Late);
    }
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
