//! The id of a context of any kind.

use contracts::id::{
    AgentContextId, BUILT_IN_CONTEXT, ConnectionId, ConversationContextId, InvalidId, ModeKey, WebhookId,
};

/// The kind of a context. Modes, connections and webhooks are written, versioned and rolled back like contexts, so they
/// count as kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContextKind {
    /// An agent context.
    Agent,
    /// A conversation context.
    Conversation,
    /// A mode.
    Mode,
    /// A connection.
    Connection,
    /// A webhook.
    Webhook,
}

impl ContextKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Agent, Self::Conversation, Self::Mode, Self::Connection, Self::Webhook];

    /// Returns the value of `Kind`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Conversation => "conversation",
            Self::Mode => "mode",
            Self::Connection => "connection",
            Self::Webhook => "webhook",
        }
    }

    /// Returns the member of a document that has its id.
    #[must_use]
    pub fn id_member(self) -> &'static str {
        match self {
            Self::Agent | Self::Conversation | Self::Connection | Self::Webhook => "Id",
            Self::Mode => "Key",
        }
    }

    /// Validates an id of this kind.
    ///
    /// # Errors
    /// If the string is not an id.
    pub fn id(self, id: &str) -> Result<ContextId, InvalidId> {
        match self {
            Self::Agent => AgentContextId::new(id).map(ContextId::Agent),
            Self::Conversation => ConversationContextId::new(id).map(ContextId::Conversation),
            Self::Mode => ModeKey::new(id).map(ContextId::Mode),
            Self::Connection => ConnectionId::new(id).map(ContextId::Connection),
            Self::Webhook => WebhookId::new(id).map(ContextId::Webhook),
        }
    }
}

/// The id of a context, with its kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ContextId {
    /// The id of an agent context.
    Agent(AgentContextId),
    /// The id of a conversation context.
    Conversation(ConversationContextId),
    /// The key of a mode.
    Mode(ModeKey),
    /// The id of a connection.
    Connection(ConnectionId),
    /// The id of a webhook.
    Webhook(WebhookId),
}

impl ContextId {
    /// Returns the kind.
    #[must_use]
    pub fn kind(&self) -> ContextKind {
        match self {
            Self::Agent(_) => ContextKind::Agent,
            Self::Conversation(_) => ContextKind::Conversation,
            Self::Mode(_) => ContextKind::Mode,
            Self::Connection(_) => ContextKind::Connection,
            Self::Webhook(_) => ContextKind::Webhook,
        }
    }

    /// Returns the id, unique within its kind.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Agent(id) => id.as_str(),
            Self::Conversation(id) => id.as_str(),
            Self::Mode(key) => key.as_str(),
            Self::Connection(id) => id.as_str(),
            Self::Webhook(id) => id.as_str(),
        }
    }

    /// True for the id of the built-in context, which no org may use for its own. An org may replace any mode.
    #[must_use]
    pub fn is_reserved(&self) -> bool {
        matches!(self.kind(), ContextKind::Agent | ContextKind::Conversation)
            && self.as_str() == BUILT_IN_CONTEXT
    }
}
