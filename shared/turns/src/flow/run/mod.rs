//! Runs an attempt of a turn: retrieval, model calls and tools, until there is an outcome.

pub(super) mod agent_loop;
pub(super) mod attempt;
pub(super) mod compaction;
pub(super) mod compose;
pub(super) mod fallback;
pub(super) mod optional_files;
pub(super) mod provider_capabilities;
pub(super) mod retrieve;
pub(super) mod watch;
