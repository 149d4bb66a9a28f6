//! The contexts of sessions that name none: data that comes with the service.

use super::{AgentContext, ConversationContext, Document, parse_documents};
use crate::{fault::Faults, mode::Catalog};

const DEFAULTS: &str = include_str!("../../data/contexts.json");

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

/// The defaults that come with the service, checked like any other context.
///
/// # Errors
/// Every fault at once, for example a client tool that a server tool is called like.
pub fn defaults(catalog: &Catalog, server_tools: &[&str]) -> Result<Defaults, Faults> {
    let (mut agents, mut conversations) = (Vec::new(), Vec::new());
    for document in parse_documents(DEFAULTS, catalog, server_tools, &[])? {
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
