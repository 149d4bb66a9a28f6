//! The agent context: an agent as an organisation has set it up.

use contracts::id::{AgentContextId, ConversationContextId};
use serde::{Deserialize, Serialize};

use crate::tool::Definition;

/// An agent, as an organisation has set it up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct AgentContext {
    /// The id that requests send as `AgentContextId`.
    pub id: AgentContextId,
    /// The name that session lists show.
    pub name: String,
    /// A text about its replacement, if it is deprecated. New sessions get a warning with the text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deprecated: Option<String>,
    /// The conversation context of a session whose first turn names none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub default_conversation_context_id: Option<ConversationContextId>,
    /// The tools that this agent's clients run.
    #[serde(default)]
    pub client_tools: Vec<Definition>,
}
