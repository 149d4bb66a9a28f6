//! Take over: another attempt fences the one whose lease is over (rules 3, 5 and 9).

use contracts::Timestamp;

use super::Illegal;
use crate::{
    change::{Condition, TurnChange},
    id::AttemptId,
    timing::Timing,
    turn::{MAX_TAKEOVERS, State, Turn},
};

/// What the taker is going to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Go on with the work: a further attempt, which may store an outcome object.
    Retry,
    /// Only look for an earlier attempt's outcome, and settle.
    Salvage,
}

/// When a lease counts as over for everybody but its holder.
#[must_use]
pub fn takeable_at(lease_ends: Timestamp, timing: &Timing) -> Timestamp {
    lease_ends.after(timing.take_late)
}

/// When the sweep gives up on a running turn: after the client had time for a retry of its own.
#[must_use]
pub fn abandoned_at(lease_ends: Timestamp, timing: &Timing) -> Timestamp {
    takeable_at(lease_ends, timing).after(timing.abandon_grace)
}

/// Why a turn can't be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It does not run.
    #[error(transparent)]
    Illegal(#[from] Illegal),
    /// Its holder is alive, for all anyone can know.
    #[error("the lease is not over yet")]
    Alive {
        /// When it may be taken.
        takeable_at: Timestamp,
    },
    /// Every attempt is used up: it can only be salvaged.
    #[error("every attempt is used up")]
    NoAttemptLeft,
}

/// Takes a running turn whose lease is over.
///
/// # Errors
/// When it does not run, its lease is not over, or no attempt is left for a retry.
pub fn take(
    turn: &Turn,
    attempt: AttemptId,
    purpose: Purpose,
    now: Timestamp,
    timing: &Timing,
) -> Result<TurnChange, Refused> {
    let State::Running { lease_ends, stage } = &turn.state else {
        return Err(Illegal { from: turn.state.phase() }.into());
    };
    let takeable_at = takeable_at(*lease_ends, timing);
    if now < takeable_at {
        return Err(Refused::Alive { takeable_at });
    }
    let (mut stage, mut takeovers) = (stage.clone(), turn.takeovers);
    let lease = match purpose {
        Purpose::Retry if takeovers >= MAX_TAKEOVERS => return Err(Refused::NoAttemptLeft),
        Purpose::Retry => {
            takeovers += 1;
            stage.attempts.push(attempt.clone());
            timing.lease
        }
        // A salvager stores no outcome object, so nobody will ever have to look for one of its own.
        Purpose::Salvage => timing.salvage_lease,
    };
    let state = State::Running { lease_ends: now.after(lease), stage };
    let after = Turn { attempt, state, takeovers, ..turn.clone() };
    Ok(TurnChange { condition: Condition::lease_of(turn), after })
}
