//! The contexts of sessions that name none. They ship with the service as data.

use super::{AgentContext, ConversationContext, Document};
use crate::fault::Faults;

pub(super) const DEFAULTS: &str = include_str!("../../data/contexts.json");

/// The name of both default contexts.
pub const BUILT_IN_NAME: &str = "Default";

/// The contexts of a session that names none.
#[derive(Debug, Clone, PartialEq)]
pub struct Defaults {
    /// The agent context.
    pub agent: AgentContext,
    /// The conversation context.
    pub conversation: ConversationContext,
}

/// Returns the defaults that ship with the service. A test checks them like any other context, together with every
/// server tool; doing so at function start would dominate the start-up time.
///
/// # Errors
/// Returns faults if the data isn't exactly one context of each kind.
pub fn defaults() -> Result<Defaults, Faults> {
    let (mut agents, mut conversations) = (Vec::new(), Vec::new());
    let documents: Vec<Document> =
        serde_json::from_str(DEFAULTS).map_err(|error| Faults::single("contexts", error))?;
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
        _ => Err(Faults::single("contexts", "there must be one default of each kind")),
    }
}
