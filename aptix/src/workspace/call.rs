//! A tool call of the agent, and its result unless it changes something.

use serde::Deserialize;
use serde_json::{Value, json};

use super::error::Error;
use super::folder::Workspace;

/// A parsed tool call.
#[derive(Debug)]
pub(crate) enum Call {
    Read { path: String },
    List { path: String },
    Search { pattern: String, path: String },
    Write { path: String, patch: String },
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    path: String,
    #[serde(default)]
    pattern: String,
    #[serde(default)]
    patch: String,
}

impl Call {
    /// Parses a tool's name and its JSON arguments.
    pub(crate) fn parse(name: &str, arguments: &str) -> Result<Self, Error> {
        let tool = match name {
            "workspace_read_file" => "workspace_read_file",
            "workspace_list_files" => "workspace_list_files",
            "workspace_search_text" => "workspace_search_text",
            "workspace_write_patch" => "workspace_write_patch",
            other => return Err(Error::Unknown(other.to_owned())),
        };
        let invalid = |error: serde_json::Error| Error::Arguments { tool, why: error.to_string() };
        let Arguments { path, pattern, patch } = serde_json::from_str(arguments).map_err(invalid)?;
        Ok(match tool {
            "workspace_read_file" => Self::Read { path },
            "workspace_list_files" => Self::List { path },
            "workspace_search_text" => Self::Search { pattern, path },
            _ => Self::Write { path, patch },
        })
    }
}

impl Workspace {
    /// Runs a read-only call. Patches need approval and are not applied here.
    pub(crate) fn read_only(&self, call: &Call) -> Result<Value, Error> {
        match call {
            Call::Read { path } => Ok(json!({ "text": self.text(path)? })),
            Call::List { path } => self.list(path),
            Call::Search { pattern, path } => self.search(pattern, path),
            Call::Write { path, .. } => Err(Error::Patch(format!("{path}: the change was not approved"))),
        }
    }
}
