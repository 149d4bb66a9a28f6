//! The definition of a tool.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool as the model sees it, and where it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Definition {
    /// The name: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// A description for the model.
    pub description: String,
    /// The JSON schema of its arguments, which are an object.
    pub parameters: Value,
    /// Instructions for the model on when and how to use it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usage: Option<String>,
    /// The side that runs it.
    pub executed_by: ExecutedBy,
    /// Set if the provider must hold the model to the schema.
    #[serde(default)]
    pub strict: bool,
}

/// The side that runs a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutedBy {
    /// This service, within the turn.
    Server,
    /// The client, while the turn is suspended.
    Client,
}
