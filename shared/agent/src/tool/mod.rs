//! Tools: what the model may call, and where each call runs.
//!
//! [`Registry`] holds the server's tools, [`select_tools`] selects a turn's, [`route_calls`] decides the side that
//! runs each of a reply's calls, and [`run_calls`] runs the server's share. The loop that calls the model again and
//! the stores for effects belong to the turn flow.

pub mod approval;
mod approved_call;
mod arguments;
mod built_in;
mod check;
pub(crate) mod client_tool_check;
pub mod deferred;
mod definition;
#[cfg(any(test, feature = "diagnostics"))]
pub mod diagnostics;
mod effect_limits;
#[cfg(test)]
mod fake_tool;
mod limits;
mod registry;
pub mod remote;
pub mod result_validation;
mod results_block;
pub mod rounds;
mod routing;
mod run;
mod schema;
mod selection;
mod server_tool;
pub mod stored_result;
pub mod timer;

pub use approved_call::canonical;
pub use arguments::parse_arguments;
pub use built_in::{AGENT_CHANGE_MODE, FIND_TOOLS, READ_RESULT, SEARCH_CONTEXT, built_in};
pub use check::{DefinitionFault, check, schema_faults};
pub use definition::{Definition, ExecutedBy};
pub use effect_limits::{MAX_MODE_CHANGES, MAX_SEARCHES, mode_change_limit_message, search_limit_message};
pub use limits::Limits;
pub use registry::Registry;
pub use results_block::results_block;
pub use routing::route_calls;
pub use run::{ExecutedCall, OfferedTools, RemoteRunner, ValidRemoteCall, run_calls};
pub use schema::matches_schema;
pub use selection::{
    DroppedTool, MAX_TOOLS, ToolSelection, add_remote_tools, select_tools, to_model_tools,
    usage_metadata_block,
};
pub use server_tool::{
    AvailableMode, Effect, PublishFile, ServerTool, StageMode, ToolError, ToolInput, ToolSuccess, TurnFacts,
};
