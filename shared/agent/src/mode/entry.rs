//! What a mode is: a design-time value, immutable while the service runs (AGN-013, AGN-014).

use serde::{Deserialize, Serialize};

use super::RagHint;
use crate::tool::Definition;

/// A way of working: what it is for, how the model behaves in it, and which tools it brings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Mode {
    /// 32 lowercase hex digits; never changes, even when the key does.
    pub id: String,
    /// What sessions, requests and `agent_change_mode` call it: `snake_case`.
    pub key: String,
    /// What a client displays (AGN-033 §3.1, `ModeDisplayName`).
    pub display_name: String,
    /// What it is, for people who keep the catalog.
    pub description: String,
    /// When to change to it: one line, for the model.
    pub when_to_use: String,
    /// Whether sessions start in it; true for exactly one mode.
    #[serde(default)]
    pub is_default: bool,
    /// How far along its life it is.
    pub status: Status,
    /// The version of this definition.
    pub version: String,
    /// What the model is told to do in this mode.
    #[serde(default)]
    pub mode_instructions: Vec<String>,
    /// How the model is told to behave in this mode.
    #[serde(default)]
    pub behavior_hints: Vec<String>,
    /// What the model is told about the people it works with in this mode.
    #[serde(default)]
    pub human_role_hints: Vec<String>,
    /// What a user might say that calls for this mode.
    #[serde(default)]
    pub example_utterances: Vec<String>,
    /// The server tools that it brings, beside `agent_change_mode`, which every mode has (AGN-011 §4.2).
    #[serde(default)]
    pub associated_tool_ids: Vec<String>,
    /// The client tools that it brings: a client that can't run one answers its calls with an error. Where a
    /// context declares a tool of the same name, the context's counts (AGN-011 §4.3).
    #[serde(default)]
    pub client_tools: Vec<Definition>,
    /// Kinds of tools that suit it, for people who keep the catalog.
    #[serde(default)]
    pub tool_group_hints: Vec<String>,
    /// What retrieval ranks higher in this mode; never a filter.
    #[serde(default)]
    pub rag_scope_hints: Vec<RagHint>,
    /// Words that call for this mode on their own.
    #[serde(default)]
    pub strong_signals: Vec<String>,
    /// Words that call for it together with others.
    #[serde(default)]
    pub weak_signals: Vec<String>,
}

/// How far along its life a mode is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// In use.
    Active,
    /// In use, and may change or go.
    Experimental,
    /// Not offered any more; sessions that are in it stay in it.
    Deprecated,
}

impl Mode {
    /// Whether a session may change to it.
    #[must_use]
    pub fn is_offered(&self) -> bool {
        self.status != Status::Deprecated
    }
}
