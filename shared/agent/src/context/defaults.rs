//! The contexts of sessions that name none: data that comes with the service.

use super::{AgentContext, ConversationContext, Document};
use crate::fault::Faults;

pub(super) const DEFAULTS: &str = include_str!("../../data/contexts.json");

/// What both are called.
pub const BUILT_IN_NAME: &str = "Default";

/// The contexts of a session that names none.
#[derive(Debug, Clone, PartialEq)]
pub struct Defaults {
    /// Who works in it.
    pub agent: AgentContext,
    /// How it is run.
    pub conversation: ConversationContext,
}

/// The defaults that come with the service. A test checks them like any other context, beside every tool of the server:
/// for a function's start that would be most of its work.
///
/// # Errors
/// When they are no contexts, or not one of each kind.
pub fn defaults() -> Result<Defaults, Faults> {
    let (mut agents, mut conversations) = (Vec::new(), Vec::new());
    let documents: Vec<Document> =
        serde_json::from_str(DEFAULTS).map_err(|error| Faults::one("contexts", error))?;
    for document in documents {
        match document {
            Document::AgentContext(context) => agents.push(context),
            Document::ConversationContext(context) => conversations.push(context),
        }
    }
    match (agents.pop(), conversations.pop()) {
        (Some(agent), Some(conversation)) if agents.is_empty() && conversations.is_empty() => {
            Ok(Defaults { agent, conversation })
        }
        _ => Err(Faults::one("contexts", "there must be one default of each kind")),
    }
}
