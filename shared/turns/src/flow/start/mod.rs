//! Starts turns: a new one from a request, and a suspended one from its tool results.

pub(in crate::flow) mod replay;
pub(in crate::flow) mod rerun;
pub(in crate::flow) mod rerun_parent;
pub(in crate::flow) mod setup;
pub(in crate::flow) mod tool_results;
pub(in crate::flow) mod user_turn;
