//! What a tool is called, what it takes, and where it runs.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool as the model sees it, and who runs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Definition {
    /// Its name: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON schema of its arguments: an object.
    pub parameters: Value,
    /// When and how to use it: its part of the tool usage metadata (AGN-003 §4.3).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usage: Option<String>,
    /// Who runs it.
    pub executed_by: ExecutedBy,
    /// Whether the provider must hold the model to the schema.
    #[serde(default)]
    pub strict: bool,
}

/// Who runs a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutedBy {
    /// This service, within the turn.
    Server,
    /// The client, while the turn is suspended.
    Client,
}
