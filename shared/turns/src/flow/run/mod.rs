//! Runs an attempt of a turn: model calls and tools, until there is an outcome.

pub(super) mod agent_loop;
pub(super) mod attempt;
mod budget_check;
mod compaction;
mod compose;
mod effects;
mod fallback;
mod history;
mod interruption;
mod keep_lease;
mod model_call;
pub(super) mod models;
mod optional_files;
pub(super) mod provider_capabilities;
mod source_search;
mod step_record;
mod tools;
mod watch;
