//! Resume: the client sent the results that a suspended turn waits for, or the last approval was answered.

use contracts::{Fingerprint, Timestamp};

use super::{IllegalTransition, sweep};
use crate::{
    change::{Condition, TurnChange},
    id::AttemptId,
    timing::Timing,
    turn::{AcceptedResults, Stage, State, Turn},
};

/// Error for tool results that can't be accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// The turn does not await results.
    #[error(transparent)]
    IllegalTransition(#[from] IllegalTransition),
    /// The deadline of the results has passed, so [`end_overdue`](super::settle::end_overdue) ends the turn.
    #[error("the deadline of the tool results has passed")]
    DeadlinePassed,
}

/// Resumes a suspended turn. The results must be stored under `attempt` before this is written.
///
/// # Errors
/// Returns an error if the turn does not await tool results or their deadline has passed.
pub fn resume(
    turn: &Turn,
    attempt: AttemptId,
    results: Fingerprint,
    now: Timestamp,
    timing: &Timing,
) -> Result<TurnChange, ResumeError> {
    let State::AwaitingTools { round, deadline, .. } = turn.state else {
        return Err(IllegalTransition { from: turn.state.phase() }.into());
    };
    if deadline <= now {
        return Err(ResumeError::DeadlinePassed);
    }
    let lease_ends = now.after(timing.lease);
    let mut after = Turn {
        attempt: attempt.clone(),
        accepted_results: Some(AcceptedResults {
            round,
            results,
            suspended_by: turn.attempt.clone(),
            resumed_by: attempt.clone(),
        }),
        state: State::Running { lease_ends, stage: Stage { round, attempts: vec![attempt] } },
        ..turn.clone()
    };
    after.due = Some(sweep::overdue_at(&after, lease_ends, timing));
    Ok(TurnChange { condition: Condition::same_owner(turn), after })
}
