//! The `[TOOL_RESULTS]` block; its home is with the tools.

pub use agent::tool::results_block as block;
