//! The transitions of a turn, pure: what to write and under which condition, never how.
//!
//! One file per transition. No clock, no randomness, no I/O: instants and attempt ids come in as values.

pub mod begin;
pub mod finalize;
pub mod fork;
pub mod import;
pub mod purging;
pub mod renew;
#[cfg(test)]
mod rerun_tests;
pub mod resume;
pub mod settle;
pub mod suspend;
pub mod sweep;
pub mod take;
#[cfg(test)]
mod tests;
pub mod upkeep;
pub mod wait;

/// The transition is not defined from the state the turn is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a turn that is {from:?} has no such transition")]
pub struct Illegal {
    /// The state's name.
    pub from: crate::turn::Phase,
}
