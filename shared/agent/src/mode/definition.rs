//! The definition of a mode.

use contracts::{Fingerprint, id::ModeKey};
use serde::{Deserialize, Serialize};

use super::RagHint;
use crate::tool::Definition;

/// The number of hex digits of an id.
pub(super) const ID_DIGITS: usize = 32;

/// A way of working: its purpose, the model's behavior in it, and the tools it brings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Mode {
    /// The id: 32 lowercase hex digits. An org's mode that states none has one derived from its key.
    #[serde(default)]
    pub id: String,
    /// The key, in `snake_case`, that sessions, requests and `agent_change_mode` use.
    pub key: ModeKey,
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
    /// A text about its replacement, if it is deprecated. Sessions that start in it get a warning with the text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deprecated: Option<String>,
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

    /// Returns the mode with an id derived from its key, if it states none.
    #[must_use]
    pub fn with_default_id(mut self) -> Self {
        if self.id.is_empty() {
            self.id = Fingerprint::hash_bytes(self.key.as_str().as_bytes()).to_string();
            self.id.truncate(ID_DIGITS);
        }
        self
    }
}
