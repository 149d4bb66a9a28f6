//! The request of a model call.

use crate::model::{Identifiers, Message, ReplyItem, model_settings::ModelSettings};

/// One model call.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The provider's name in the deployment. `None` for the default.
    pub provider: Option<String>,
    /// The provider's model id.
    pub model: String,
    /// Sampling and output settings.
    pub settings: ModelSettings,
    /// Pseudonyms of the session and the user.
    pub identifiers: Option<Identifiers>,
    /// True if the provider may store the reply, for later requests to continue from.
    pub store: bool,
    /// The conversation up to this call.
    pub chain: Chain,
    /// The new message of this call.
    pub message: Message,
    /// The turn's tools, sent on every request.
    pub tools: Vec<Tool>,
    /// A tool that the model must call.
    pub tool_choice: Option<String>,
    /// Set if the reply's reasoning is wanted, encrypted, so that it can be replayed when the provider stores
    /// nothing.
    pub wants_reasoning: bool,
}

impl Request {
    /// Returns the response that the request continues from, or `None` if it starts a chain.
    #[must_use]
    pub fn previous_response_id(&self) -> Option<&str> {
        match &self.chain {
            Chain::Initial { .. } => None,
            Chain::Continues { previous_response_id, .. } => Some(previous_response_id),
        }
    }
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Name.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: serde_json::Value,
    /// Set if the provider must enforce the schema.
    pub strict: bool,
}

/// The conversation before a request: replayed, or continued from a stored response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chain {
    /// The first request of a chain, with a system message.
    Initial {
        /// The base system prompt.
        system: String,
        /// Other parts of the system message, in order. Blank ones are omitted.
        parts: Vec<String>,
        /// The conversation so far, if the provider doesn't store it.
        history: Vec<HistoryItem>,
    },
    /// Continues from a stored response, without a system message.
    Continues {
        /// Id of that response.
        previous_response_id: String,
    },
}

/// An item of the replayed conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HistoryItem {
    /// The message of a request.
    Message(Message),
    /// The items of a reply.
    Reply(Vec<ReplyItem>),
}
