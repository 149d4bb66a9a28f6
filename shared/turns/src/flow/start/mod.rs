//! Starts turns: a new one from a request, and a suspended one from its tool results.

mod begin_turn;
mod claim;
mod closing;
mod contexts;
mod expected_call;
mod initial_step;
mod lost_ancestor;
mod mode_normalization;
pub(super) mod rerun;
pub(super) mod rerun_parent;
mod reservation;
mod restrictions;
pub(super) mod resumption;
mod setup;
mod staged_request;
pub(super) mod submission;
mod take_over;
mod takeover_setup;
pub(super) mod turn_start;
