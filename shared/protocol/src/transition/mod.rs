//! The transitions of a turn, as pure functions: what to write and under which condition, never how.
//!
//! One file per transition. They use no clock, randomness or I/O: instants and attempt ids are parameters.

pub mod answer;
pub mod begin;
pub mod finalize;
pub mod fork;
pub mod import;
pub mod meter_hold;
pub mod purging;
pub mod renew;
pub mod resume;
pub mod session_edits;
pub mod settle;
pub mod spend;
pub mod suspend;
pub mod sweep;
pub mod take_over;
#[cfg(test)]
mod tests;
pub mod titling;
pub mod wait;
pub mod webhooks;

/// Error for a transition that the turn's state does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a turn in phase {from:?} does not allow this transition")]
pub struct IllegalTransition {
    /// The phase of the turn.
    pub from: crate::turn::Phase,
}
