//! Starts turns: a new one from a request, and a suspended one from its tool results.

mod admission;
pub(super) mod approvals;
mod begin_turn;
mod claim;
mod connections;
mod initial_step;
pub(super) mod prompt_tokens;
pub(super) mod rerun;
pub(super) mod resumption;
mod settings;
pub(super) mod takeover;
pub(super) mod turn_start;
