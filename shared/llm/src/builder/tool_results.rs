//! The `[TOOL_RESULTS]` block: history tells tool results in the same words, so its home is with the tools.

pub use agent::tool::{Values, results_block as block};
