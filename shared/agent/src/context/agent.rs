//! The agent context: an agent as an organisation has set it up.

use contracts::id::{AgentContextId, ConversationContextId};

use super::limits::{MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS};
use crate::{
    connection::TOOL_NAMES,
    members::{deprecation, line, table, text},
    tool::Definition,
};

table! {
    /// An agent: its name, its purpose, and the tools that its clients run.
    #[derive(Debug, Clone, PartialEq)]
    pub struct AgentContext as "AgentContext" {
        /// The id that requests send as `AgentContextId`.
        pub id: AgentContextId,
        /// The name that session lists show.
        pub name: String = line(MAX_NAME_CHARS),
        /// The agent's purpose, for people and models that choose among agents. Lists of agents and models have it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub description: Option<String> = text(MAX_DESCRIPTION_CHARS),
        /// The replacement to use. Set it to deprecate the document.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub deprecated: Option<String> = deprecation(),
        /// The conversation context of a session whose first turn names none.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub default_conversation_context_id: Option<ConversationContextId>,
        /// The tools that this agent's clients run.
        #[serde(default)]
        pub client_tools: Vec<Definition>,
        /// The connections and tools of connections that the service calls for it, such as `tickets.create_ticket`.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        pub tools: Vec<String> = TOOL_NAMES,
    }
}
