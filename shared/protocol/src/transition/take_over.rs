//! Take over: another attempt fences the one whose lease has expired (rules 3, 5 and 9).

use contracts::Timestamp;

use super::IllegalTransition;
use crate::{
    change::{Condition, TurnChange},
    id::AttemptId,
    spent::Spent,
    timing::Timing,
    turn::{MAX_TAKEOVERS, State, Turn},
};

/// The purpose of a takeover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Continue the work as a further attempt, which may store an outcome object.
    Retry,
    /// Only look for an earlier attempt's outcome, and settle.
    Salvage,
}

/// Returns the time from which others may take over a turn with this lease end.
#[must_use]
pub fn takeover_after(lease_ends: Timestamp, timing: &Timing) -> Timestamp {
    lease_ends.after(timing.takeover_margin)
}

/// Returns the time at which the sweep gives up on a running turn, which leaves the client time to retry.
#[must_use]
pub fn abandoned_at(lease_ends: Timestamp, timing: &Timing) -> Timestamp {
    takeover_after(lease_ends, timing).after(timing.abandon_grace)
}

/// Error for a turn that can't be taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TakeOverError {
    /// The turn does not run.
    #[error(transparent)]
    IllegalTransition(#[from] IllegalTransition),
    /// The lease has not expired, so its holder may be alive.
    #[error("the lease has not expired")]
    LeaseActive {
        /// The time from which it may be taken over.
        takeover_after: Timestamp,
    },
    /// All attempts are used up, so the turn can only be salvaged.
    #[error("no attempts left")]
    NoAttemptLeft,
}

/// Takes over a running turn whose lease has expired.
///
/// # Errors
/// Returns an error if the turn does not run, its lease has not expired, or no attempt is left for a retry.
pub fn take_over(
    turn: &Turn,
    attempt: AttemptId,
    purpose: Purpose,
    now: Timestamp,
    timing: &Timing,
) -> Result<TurnChange, TakeOverError> {
    let State::Running { lease_ends, stage } = &turn.state else {
        return Err(IllegalTransition { from: turn.state.phase() }.into());
    };
    let takeover_after = takeover_after(*lease_ends, timing);
    if now < takeover_after {
        return Err(TakeOverError::LeaseActive { takeover_after });
    }
    let (mut stage, mut takeovers) = (stage.clone(), turn.takeovers);
    let lease = match purpose {
        Purpose::Retry if takeovers >= MAX_TAKEOVERS => return Err(TakeOverError::NoAttemptLeft),
        Purpose::Retry => {
            takeovers += 1;
            stage.attempts.push(attempt.clone());
            timing.lease
        }
        // A salvager stores no outcome object, so no later takeover has to look for one.
        Purpose::Salvage => timing.salvage_lease,
    };
    let state = State::Running { lease_ends: now.after(lease), stage };
    // The new attempt will tell a later figure.
    let spent = turn.spent.clone().map(|spent| Spent { is_told: false, is_final: false, ..spent });
    let after = Turn { attempt, state, takeovers, spent, ..turn.clone() };
    Ok(TurnChange { condition: Condition::same_lease(turn), after })
}
