//! Runs an attempt of a turn: retrieval, model calls and tools, until there is an outcome.

pub(in crate::flow) mod agent_loop;
pub(in crate::flow) mod attempt;
pub(in crate::flow) mod compaction;
pub(in crate::flow) mod compose;
pub(in crate::flow) mod fallback;
pub(in crate::flow) mod provider_capabilities;
pub(in crate::flow) mod retrieve;
pub(in crate::flow) mod watch;
