//! Selection of the tools that a turn offers.
//!
//! They are selected once, before the turn's first model call, and stored with the turn: neither a mode change nor a
//! redeploy alters the list mid-turn. Access control isn't part of it: modes decide which tools are offered.

use std::collections::BTreeSet;

use super::{
    AGENT_CHANGE_MODE, Definition, ExecutedBy, FIND_TOOLS, READ_RESULT, Registry,
    deferred::{self, MAX_DEFERRED_TOOLS, MAX_DIRECT_TOOLS, MAX_FOUND_TOOLS},
    remote::RemoteTool,
};
use crate::model::Tool;

/// The maximum number of tools in a request; providers reject more.
pub const MAX_TOOLS: usize = 128;

/// A turn's tools.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSelection {
    /// The tools that the model is offered, in this order, each name once.
    pub tools: Vec<Definition>,
    /// The tools that were left out, for a warning in the log.
    pub dropped: Vec<DroppedTool>,
}

/// A tool that was left out. Contexts and catalog are checked when they are written, so this happens only if the
/// server later adds a tool of that name, or removes it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DroppedTool {
    /// A second tool of one name.
    #[error("tool {0:?} is declared twice; the first declaration counts")]
    Duplicate(String),
    /// A mode's server tool whose name a client tool has: the client's tool stays.
    #[error("the server tool {0:?} is hidden by a client tool of that name")]
    HiddenByClient(String),
    /// A client tool with the name of the mode change tool, which every turn needs.
    #[error("a client tool may not be named {AGENT_CHANGE_MODE:?}")]
    ReservedName,
    /// More tools than providers accept: they would reject the request in every turn.
    #[error("tool {0:?} exceeds the {MAX_TOOLS} tools of a request")]
    TooMany(String),
    /// A name that no server tool has.
    #[error("the server has no tool {0:?}")]
    Unknown(String),
}

/// Selects client tools, the mode's server tools, and the mode change tool, in this order.
///
/// `declared` are the definitions of the contexts and the mode, in order of precedence. One that is run by the
/// server refers to the registry's tool of that name. `hosted` is the number of provider-hosted tools that the
/// request offers besides them.
#[must_use]
pub fn select_tools<'a>(
    registry: &Registry,
    declared: impl IntoIterator<Item = &'a Definition>,
    mode_tools: impl IntoIterator<Item = &'a str>,
    hosted: usize,
) -> ToolSelection {
    let (client_tools, server_tools): (Vec<_>, Vec<_>) =
        declared.into_iter().partition(|tool| tool.executed_by == ExecutedBy::Client);
    let mut selection = ToolSelection { tools: Vec::new(), dropped: Vec::new() };
    let mut names = BTreeSet::new();
    for tool in client_tools {
        if tool.name == AGENT_CHANGE_MODE {
            selection.dropped.push(DroppedTool::ReservedName);
        } else if names.insert(tool.name.as_str()) {
            selection.tools.push(tool.clone());
        } else {
            selection.dropped.push(DroppedTool::Duplicate(tool.name.clone()));
        }
    }
    let client_names = names.clone();
    let requested = server_tools.into_iter().map(|tool| tool.name.as_str()).chain(mode_tools);
    for name in requested.filter(|name| *name != AGENT_CHANGE_MODE) {
        match registry.get(name) {
            _ if client_names.contains(name) => {
                selection.dropped.push(DroppedTool::HiddenByClient(name.to_owned()))
            }
            None => selection.dropped.push(DroppedTool::Unknown(name.to_owned())),
            // A server tool that both the context and the mode name is the same tool; nothing is lost.
            Some(tool) if names.insert(name) => selection.tools.push(tool.definition().clone()),
            Some(_) => {}
        }
    }
    let capacity = (MAX_TOOLS - 1).saturating_sub(hosted);
    let excess = selection.tools.split_off(capacity.min(selection.tools.len()));
    selection.dropped.extend(excess.into_iter().map(|tool| DroppedTool::TooMany(tool.name)));
    selection.tools.extend(registry.get(AGENT_CHANGE_MODE).map(|tool| tool.definition().clone()));
    selection
}

/// Adds remote tools to a turn's tools, and returns those that were added. A name that the turn has already stays with its
/// tool, so that no connection can take the place of another tool.
pub fn add_remote_tools<'a>(
    registry: &Registry,
    selection: &mut ToolSelection,
    remote: impl IntoIterator<Item = &'a RemoteTool>,
    hosted: usize,
) -> Vec<RemoteTool> {
    // Room for the tools that come with them, and for those that are found.
    let room = MAX_TOOLS.saturating_sub(hosted).saturating_sub(selection.tools.len()).saturating_sub(2);
    let remote: Vec<&RemoteTool> = remote.into_iter().collect();
    let is_deferred = remote.len() > MAX_DIRECT_TOOLS && room >= MAX_FOUND_TOOLS;
    let capacity = if is_deferred { MAX_DEFERRED_TOOLS } else { room.min(MAX_DIRECT_TOOLS) };
    let mut added: Vec<RemoteTool> = Vec::new();
    for tool in remote {
        let name = &tool.definition.name;
        if selection.tools.iter().any(|other| other.name == *name) {
            selection.dropped.push(DroppedTool::Duplicate(name.clone()));
        } else if added.len() >= capacity {
            selection.dropped.push(DroppedTool::TooMany(name.clone()));
        } else {
            selection.tools.push(tool.definition.clone());
            added.push(tool.clone());
        }
    }
    add_tools_of_connections(registry, selection, &added);
    added
}

/// Adds the tools that come with tools of connections. A client's tool of the same name stays.
fn add_tools_of_connections(registry: &Registry, selection: &mut ToolSelection, remote: &[RemoteTool]) {
    if remote.is_empty() {
        return;
    }
    let find_tools = registry.of_connections(FIND_TOOLS).filter(|_| deferred::are_deferred(remote));
    let find_tools = find_tools.map(|tool| deferred::with_names(tool, remote));
    for tool in find_tools.into_iter().chain(registry.of_connections(READ_RESULT).cloned()) {
        match selection.tools.iter().any(|other| other.name == tool.name) {
            true => selection.dropped.push(DroppedTool::HiddenByClient(tool.name)),
            false => selection.tools.push(tool),
        }
    }
}

/// Returns the tools as a model call carries them. The usage text of a client tool is appended to its description;
/// the system message has the usage texts of the server's tools ([`usage_metadata_block`]).
#[must_use]
pub fn to_model_tools(tools: &[Definition]) -> Vec<Tool> {
    let usage = |tool: &Definition| tool.usage.clone().filter(|_| tool.executed_by == ExecutedBy::Client);
    tools
        .iter()
        .map(|tool| Tool {
            name: tool.name.clone(),
            description: [Some(tool.description.clone()), usage(tool)]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join("\n\n"),
            parameters: tool.parameters.clone(),
            strict: tool.strict,
        })
        .collect()
}

/// Renders the usage texts of the server's tools among these, or `None` if no tool has one.
#[must_use]
pub fn usage_metadata_block<'a>(tools: impl IntoIterator<Item = &'a Definition>) -> Option<String> {
    let mut lines = Vec::new();
    for tool in tools.into_iter().filter(|tool| tool.executed_by == ExecutedBy::Server) {
        if let Some(usage) = tool.usage.as_deref().map(str::trim).filter(|usage| !usage.is_empty()) {
            lines.push(format!("<<<APTIX_TOOL_USAGE_BEGIN name='{}'>>>", tool.name));
            lines.push(usage.to_owned());
            lines.push(format!("<<<APTIX_TOOL_USAGE_END name='{}'>>>", tool.name));
        }
    }
    if lines.is_empty() {
        return None;
    }
    lines.insert(0, "<<<APTIX_SERVER_TOOL_USAGE_METADATA_BEGIN>>>".to_owned());
    lines.push("<<<APTIX_SERVER_TOOL_USAGE_METADATA_END>>>".to_owned());
    Some(lines.join("\n"))
}

#[cfg(test)]
mod tests;
