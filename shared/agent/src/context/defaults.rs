//! The contexts that ship with the service as data: the defaults of sessions, and agents that any session may
//! name.

use contracts::id::AgentContextId;

use super::{AgentContext, ConversationContext, Document};
use crate::{fault::Faults, tool::remote::RemoteTool};

pub(super) const DEFAULTS: &str = include_str!("../../data/contexts.json");

/// The name of both default contexts.
pub const BUILT_IN_NAME: &str = "Default";

/// Returns the name of a built-in agent that a session may name, without reading the data.
#[must_use]
pub fn built_in_agent_name(id: &AgentContextId) -> Option<&'static str> {
    (id.as_str() == "workspace").then_some("Workspace")
}

/// The contexts that ship with the service.
#[derive(Debug, Clone, PartialEq)]
pub struct Defaults {
    /// The agent context of a session that names none.
    pub agent: AgentContext,
    /// The conversation context of a session that names none.
    pub conversation: ConversationContext,
    /// Agents that a session may name, unless its org has one under the same id.
    pub named_agents: Vec<AgentContext>,
    /// Remote tools of every turn. A deployment has none: they come from an org's connections.
    pub remote_tools: Vec<RemoteTool>,
}

impl Defaults {
    /// Returns the built-in agent that a session may name by this id.
    #[must_use]
    pub fn named_agent(&self, id: &AgentContextId) -> Option<&AgentContext> {
        self.named_agents.iter().find(|agent| agent.id == *id)
    }
}

/// Returns the defaults that ship with the service. A test checks them like any other context, together with every
/// server tool; doing so at function start would dominate the start-up time.
///
/// # Errors
/// Returns faults if the data isn't one conversation context and agent contexts, one of them the default.
pub fn defaults() -> Result<Defaults, Faults> {
    let (mut agents, mut conversations) = (Vec::new(), Vec::new());
    let documents: Vec<Document> =
        serde_json::from_str(DEFAULTS).map_err(|error| Faults::single("contexts", error))?;
    for document in documents {
        match document {
            Document::AgentContext(context) => agents.push(context),
            Document::ConversationContext(context) => conversations.push(context),
            Document::Mode(_) => return Err(Faults::single("contexts", "modes have a file of their own")),
            Document::Connection(_) => return Err(Faults::single("contexts", "no connection is built in")),
            Document::Webhook(_) => return Err(Faults::single("contexts", "no webhook is built in")),
        }
    }
    let default = agents.iter().position(|agent: &AgentContext| agent.id == AgentContextId::built_in());
    match (default.map(|index| agents.remove(index)), conversations.pop()) {
        (Some(agent), Some(conversation)) if conversations.is_empty() => {
            Ok(Defaults { agent, conversation, named_agents: agents, remote_tools: Vec::new() })
        }
        _ => Err(Faults::single("contexts", "there must be one default of each kind")),
    }
}
