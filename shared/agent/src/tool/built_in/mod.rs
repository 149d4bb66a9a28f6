//! The tools that every deployment has.

use super::ServerTool;

mod agent_change_mode;
mod agent_list_modes;
mod code_hash_normalized;
mod file_name;
mod find_tools;
mod publish_file;
mod read_result;
mod search_context;

pub use agent_change_mode::AGENT_CHANGE_MODE;
pub use find_tools::FIND_TOOLS;
pub use read_result::READ_RESULT;
pub use search_context::SEARCH_CONTEXT;

/// Returns the built-in tools, for [`super::Registry::new`].
#[must_use]
pub fn built_in() -> Vec<Box<dyn ServerTool>> {
    vec![
        Box::new(agent_change_mode::ChangeMode::new()),
        Box::new(agent_list_modes::ListModes::new()),
        Box::new(code_hash_normalized::HashNormalized::new()),
        Box::new(publish_file::Publish::new()),
        Box::new(search_context::SearchContext::new()),
    ]
}

/// Returns the tools that come with tools of connections. No mode names them.
pub(super) fn of_connections() -> Vec<Box<dyn ServerTool>> {
    vec![Box::new(find_tools::FindTools::new()), Box::new(read_result::ReadResult::new())]
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use serde_json::Value;

    use crate::tool::{AvailableMode, ServerTool, ToolError, ToolInput, ToolSuccess, TurnFacts};

    /// Two modes, `general` being the current one.
    pub(super) fn facts() -> TurnFacts {
        let mode = |key: &str, name: &str, when: &str| AvailableMode {
            key: key.to_owned(),
            display_name: name.to_owned(),
            when_to_use: when.to_owned(),
        };
        TurnFacts {
            mode: "general".to_owned(),
            modes: vec![
                mode("general", "General", "Anything."),
                mode("ddr_authoring", "DDR Authoring", "Writing a DDR."),
            ],
        }
    }

    /// Runs a tool that never waits.
    pub(super) fn run(tool: &dyn ServerTool, arguments: &Value) -> Result<ToolSuccess, ToolError> {
        tool.run(ToolInput { arguments, facts: &facts() }).now_or_never().expect("waits for nothing")
    }

    pub(super) fn refusal(tool: &dyn ServerTool, arguments: &Value) -> String {
        run(tool, arguments).unwrap_err().to_string()
    }
}
