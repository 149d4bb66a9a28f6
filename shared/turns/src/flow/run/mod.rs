//! Runs an attempt of a turn: model calls and tools, until there is an outcome.

pub(super) mod agent_loop;
mod approvals;
pub(super) mod attempt;
mod budget_check;
mod compose;
pub(super) mod lease;
mod model_call;
pub(super) mod models;
mod remote;
mod tools;
