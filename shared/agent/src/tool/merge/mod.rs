//! Which tools a turn offers (AGN-011 §4; ruling: client tools).
//!
//! Selected once, before the turn's first model call, and stored with the turn: neither a mode change
//! nor a redeploy alters the list mid-turn. Deliberately absent: who may use which tool; modes decide.

use std::collections::BTreeSet;

use super::{AGENT_CHANGE_MODE, Definition, ExecutedBy, Registry};
use crate::model::Tool;

/// How many tools a request may offer; providers refuse more.
pub const MOST_TOOLS: usize = 128;

/// A turn's tools.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    /// What the model is offered, in this order, each name once.
    pub tools: Vec<Definition>,
    /// What was left out, for a warning in the log.
    pub dropped: Vec<Dropped>,
}

/// A tool that was left out. Contexts and catalog are checked where they are written, so this is about
/// one that was written before the server knew a tool of that name, or after it forgot one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Dropped {
    /// A second tool of one name.
    #[error("tool {0:?} is declared twice; the first declaration counts")]
    Doubled(String),
    /// A mode's server tool where a client tool has the name: the client's stays (AGN-011 §4.3).
    #[error("the server's tool {0:?} is hidden by a client tool of that name")]
    HiddenByClient(String),
    /// A client tool with the name of the mode change tool, which no turn is without (AGN-011 §4.3).
    #[error("a client tool may not be named {AGENT_CHANGE_MODE:?}")]
    Reserved,
    /// More tools than a provider takes: the request would be refused in every turn.
    #[error("tool {0:?} is one too many: a request may offer {MOST_TOOLS}")]
    NoRoom(String),
    /// A name without code behind it.
    #[error("the server has no tool {0:?}")]
    Unknown(String),
}

/// Merges client tools, the mode's server tools, and the mode change tool, in this order.
///
/// `declared` are the definitions of the contexts and the mode, in order of precedence; one that says the
/// server runs it stands for the registry's tool of that name. `hosted` is how many of the provider's own tools a
/// request offers beside them.
#[must_use]
pub fn merge<'a>(
    registry: &Registry,
    declared: impl IntoIterator<Item = &'a Definition>,
    mode_tools: impl IntoIterator<Item = &'a str>,
    hosted: usize,
) -> Merged {
    let (of_client, of_server): (Vec<_>, Vec<_>) =
        declared.into_iter().partition(|tool| tool.executed_by == ExecutedBy::Client);
    let mut merged = Merged { tools: Vec::new(), dropped: Vec::new() };
    let mut names = BTreeSet::new();
    for tool in of_client {
        if tool.name == AGENT_CHANGE_MODE {
            merged.dropped.push(Dropped::Reserved);
        } else if names.insert(tool.name.as_str()) {
            merged.tools.push(tool.clone());
        } else {
            merged.dropped.push(Dropped::Doubled(tool.name.clone()));
        }
    }
    let clients = names.clone();
    let wanted = of_server.into_iter().map(|tool| tool.name.as_str()).chain(mode_tools);
    for name in wanted.filter(|name| *name != AGENT_CHANGE_MODE) {
        match registry.get(name) {
            _ if clients.contains(name) => merged.dropped.push(Dropped::HiddenByClient(name.to_owned())),
            None => merged.dropped.push(Dropped::Unknown(name.to_owned())),
            // A server tool that context and mode both name is the same tool: nothing is lost.
            Some(tool) if names.insert(name) => merged.tools.push(tool.definition().clone()),
            Some(_) => {}
        }
    }
    let room = (MOST_TOOLS - 1).saturating_sub(hosted);
    let too_many = merged.tools.split_off(room.min(merged.tools.len()));
    merged.dropped.extend(too_many.into_iter().map(|tool| Dropped::NoRoom(tool.name)));
    merged.tools.extend(registry.get(AGENT_CHANGE_MODE).map(|tool| tool.definition().clone()));
    merged
}

/// The tools as a model call carries them. How to use a client's tool stands with its description; for the
/// server's tools the system message says it ([`usage_metadata_block`]).
#[must_use]
pub fn to_model(tools: &[Definition]) -> Vec<Tool> {
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

/// How to use the server's tools, for the system message (AGN-003 §4.3); none when none says.
#[must_use]
pub fn usage_metadata_block(tools: &[Definition]) -> Option<String> {
    let mut lines = Vec::new();
    for tool in tools.iter().filter(|tool| tool.executed_by == ExecutedBy::Server) {
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
