//! Tools: what the model may call, and who runs it (AGN-011 §4, AGN-033 §5).
//!
//! [`Registry`] holds the server's tools, [`merge()`] selects a turn's, [`answerers`] tells who
//! answers each of a reply's calls, and [`run_all`] answers the server's share. Deliberately absent: the loop
//! that calls the model again, and the stores that effects end up in; both are the flow's.

mod answerer;
mod arguments;
mod built_in;
pub(crate) mod declared;
mod definition;
mod definition_check;
pub mod diagnostics;
mod merge;
mod registry;
mod results_block;
mod run;
mod schema;
mod server;
mod staged;

pub use answerer::answerers;
pub use built_in::{AGENT_CHANGE_MODE, SEARCH_CONTEXT, built_in};
pub use definition::{Definition, ExecutedBy};
pub use definition_check::{Why, check, is_name, schema_faults};
pub use merge::{Dropped, MOST_TOOLS, Merged, merge, to_model, usage_metadata_block};
pub use registry::Registry;
pub use results_block::results_block;
pub use run::{Executed, Limits, run_all};
pub use schema::fits;
pub use server::{
    AvailableMode, Effect, Facts, Failure, Produced, PublishFile, ServerTool, StageMode, ToolInput,
};
pub use staged::{
    MAX_MODE_CHANGES, MOST_SEARCHES, branch_note, several_changes, too_many_changes, too_many_searches,
};
