//! The `[TOOL_RESULTS]` block, which the `agent` crate builds.

pub use agent::tool::results_block as block;
