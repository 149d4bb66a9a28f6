//! Spend: the last word on what an ended turn has spent.
//!
//! A turn that is ended from outside may still have an attempt in a model call. That attempt alone knows what the call
//! has used, and tells it as soon as it notices. Until then the head has an estimate. Whoever finalizes the turn waits a
//! moment, and then seals the estimate. From the first of these two writes on the figure is final, so readers, meters
//! and totals count the same.
//!
//! If the provider stores the response of that call, the attempt's figure isn't final yet. Whoever seals it may ask the
//! provider before, and seals what it tells in place of the estimate.

use std::time::Duration;

use contracts::{Timestamp, Usage};

use super::IllegalTransition;
use crate::{
    change::{Condition, TurnChange},
    id::AttemptId,
    spent::Spent,
    turn::{EndReason, Settlement, State, Turn, Verdict},
};

/// Records the last figure of an attempt that stops without an outcome: it lost its turn, or can't continue. `stored` is
/// the head as read.
///
/// # Errors
/// Returns an error if another attempt owns the turn, or its figure is final.
pub fn record(stored: &Turn, attempt: &AttemptId, spent: Spent) -> Result<TurnChange, IllegalTransition> {
    let condition = match stored.state {
        State::Running { .. } => Condition::same_owner(stored),
        _ if is_open(stored) => Condition::Unsealed { attempt: attempt.clone() },
        _ => return Err(IllegalTransition { from: stored.state.phase() }),
    };
    if stored.attempt != *attempt || stored.spent.as_ref().is_some_and(|spent| spent.is_told) {
        return Err(IllegalTransition { from: stored.state.phase() });
    }
    let after = Turn { spent: Some(spent.into_told()), ..stored.clone() };
    Ok(TurnChange { condition, after })
}

/// The step before the finalization of a turn whose figure is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seal {
    /// The figure is final.
    None,
    /// The turn's attempt may be about to tell it.
    Wait,
    /// The attempt is dead: write this first.
    Write(Box<TurnChange>),
}

/// Decides whether the figure of a settled turn has to be sealed before the turn is finalized. Its attempt has `grace`
/// from the end on to tell it. `None` if it is zero, whatever the clocks say.
#[must_use]
pub fn seal(turn: &Turn, now: Timestamp, grace: Duration) -> Seal {
    match &turn.state {
        State::Settled(Settlement { at, .. }) if is_open(turn) => {
            if !grace.is_zero() && now < at.after(grace) {
                return Seal::Wait;
            }
            let condition = Condition::Unsealed { attempt: turn.attempt.clone() };
            Seal::Write(Box::new(TurnChange { condition, after: sealed(turn) }))
        }
        _ => Seal::None,
    }
}

/// Returns the turn with its figure as the final one. Reads show an open figure so.
#[must_use]
pub fn sealed(turn: &Turn) -> Turn {
    let spent = turn.spent.clone().unwrap_or_default().into_final();
    Turn { spent: Some(spent), ..turn.clone() }
}

/// Seals an open figure with the usage that the provider tells of its pending response.
#[must_use]
pub fn seal_told(turn: &Turn, told: &Usage) -> TurnChange {
    let spent = turn.spent.clone().unwrap_or_default().with_told(told).into_final();
    let condition = Condition::Unsealed { attempt: turn.attempt.clone() };
    TurnChange { condition, after: Turn { spent: Some(spent), ..turn.clone() } }
}

/// True if the turn was ended from outside while an attempt worked on it, and its figure isn't final yet.
#[must_use]
pub fn is_open(turn: &Turn) -> bool {
    let State::Settled(Settlement { verdict: Verdict::Ended(reason), .. }) = &turn.state else {
        return false;
    };
    let may_have_run = match reason {
        EndReason::Cancelled | EndReason::Abandoned => turn.suspended_by.as_ref() != Some(&turn.attempt),
        // The attempt itself ended the turn, or none was at work.
        EndReason::Superseded | EndReason::ToolDeadline | EndReason::StorageUnavailable => false,
    };
    may_have_run && !turn.spent.as_ref().is_some_and(|spent| spent.is_final)
}
