//! The names of connections' tools in agents and conversation contexts.

use std::{fmt, str::FromStr};

use contracts::id::ConnectionId;
use serde_json::json;

use crate::members::{Count, Fits, Strings, is_valid_name};

/// The maximum number of entries in `Tools` of a document.
pub const MAX_NAMED_TOOLS: usize = 64;

/// The rule of `Tools`.
pub(crate) const TOOL_NAMES: Strings<Fits> = Strings(
    Count(MAX_NAMED_TOOLS, "tools"),
    Fits {
        schema: || json!({ "pattern": r"^[a-z][a-z0-9-]{0,31}(\.[A-Za-z0-9_-]{1,64})?$" }),
        fits: |name| ToolName::from_str(name).is_ok(),
        fault: || InvalidToolName.to_string(),
    },
);

/// A connection, or a tool of one: `tickets` or `tickets.create_ticket`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ToolName {
    /// The connection.
    pub connection: ConnectionId,
    /// The tool. None: all of the connection.
    pub tool: Option<String>,
}

/// The fault of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be the id of a connection, or CONNECTION.TOOL, such as tickets.create_ticket")]
pub struct InvalidToolName;

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tool {
            Some(tool) => write!(f, "{}.{tool}", self.connection),
            None => self.connection.fmt(f),
        }
    }
}

impl FromStr for ToolName {
    type Err = InvalidToolName;

    fn from_str(text: &str) -> Result<Self, InvalidToolName> {
        let (connection, tool) = match text.split_once('.') {
            Some((connection, tool)) => (connection, Some(tool)),
            None => (text, None),
        };
        if tool.is_some_and(|tool| !is_valid_name(tool)) {
            return Err(InvalidToolName);
        }
        let connection = ConnectionId::new(connection).map_err(|_| InvalidToolName)?;
        Ok(Self { connection, tool: tool.map(str::to_owned) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_a_connection_with_or_without_a_tool() {
        let name: ToolName = "tickets.create_ticket".parse().unwrap();
        assert_eq!((name.connection.as_str(), name.tool.as_deref()), ("tickets", Some("create_ticket")));
        assert_eq!("git-hub".parse::<ToolName>().unwrap().tool, None);
        for wrong in ["", ".", "a.", ".a", "A", "a.b.c", "a b", "-a", "1a", "a.b c", &"a".repeat(33)] {
            assert!(wrong.parse::<ToolName>().is_err(), "{wrong}");
        }
    }
}
