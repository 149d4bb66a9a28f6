//! Starts turns: a new one from a request, and a suspended one from its tool results.

pub(super) mod purged_ancestor;
pub(super) mod rerun;
pub(super) mod rerun_parent;
pub(super) mod setup;
pub(super) mod take_over;
pub(super) mod tool_results;
pub(super) mod user_turn;
