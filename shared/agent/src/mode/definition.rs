//! The definition of a mode, immutable while the service runs.

use serde::{Deserialize, Serialize};

use super::RagHint;
use crate::tool::Definition;

/// A way of working: its purpose, the model's behavior in it, and the tools it brings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Mode {
    /// The id: 32 lowercase hex digits. It never changes, even when the key does.
    pub id: String,
    /// The key, in `snake_case`, that sessions, requests and `agent_change_mode` use.
    pub key: String,
    /// The name that a client displays.
    pub display_name: String,
    /// A description for people who maintain the catalog.
    pub description: String,
    /// The condition for changing to it: one line, for the model.
    pub when_to_use: String,
    /// True for exactly one mode, the one that sessions start in by default.
    #[serde(default)]
    pub is_default: bool,
    /// Its lifecycle status.
    pub status: Status,
    /// The version of this definition.
    pub version: String,
    /// Instructions for the model in this mode.
    #[serde(default)]
    pub mode_instructions: Vec<String>,
    /// Guidance on the model's behavior in this mode.
    #[serde(default)]
    pub behavior_hints: Vec<String>,
    /// Facts for the model about the people it works with in this mode.
    #[serde(default)]
    pub human_role_hints: Vec<String>,
    /// Examples of user messages that call for this mode.
    #[serde(default)]
    pub example_utterances: Vec<String>,
    /// The server tools that it brings, besides `agent_change_mode`, which every mode has.
    #[serde(default)]
    pub associated_tool_ids: Vec<String>,
    /// The client tools that it brings. A client that can't run one answers its calls with an error. If a context
    /// declares a tool of the same name, the context's wins.
    #[serde(default)]
    pub client_tools: Vec<Definition>,
    /// Kinds of tools that suit it, for people who maintain the catalog.
    #[serde(default)]
    pub tool_group_hints: Vec<String>,
    /// Ranking hints for retrieval in this mode; never a filter.
    #[serde(default)]
    pub rag_scope_hints: Vec<RagHint>,
    /// Words that call for this mode on their own.
    #[serde(default)]
    pub strong_signals: Vec<String>,
    /// Words that call for it together with others.
    #[serde(default)]
    pub weak_signals: Vec<String>,
}

/// The lifecycle status of a mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// In use.
    Active,
    /// In use, and may change or go.
    Experimental,
    /// No longer offered. Sessions that are in it stay in it.
    Deprecated,
}

impl Mode {
    /// Returns true if a session may change to it.
    #[must_use]
    pub fn is_offered(&self) -> bool {
        self.status != Status::Deprecated
    }
}
