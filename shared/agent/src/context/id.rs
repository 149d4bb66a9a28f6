//! The id of a context of any kind.

use contracts::id::{AgentContextId, BUILT_IN_CONTEXT, ConversationContextId, InvalidId, ModeKey};

/// The kind of a context. Modes are written, versioned and rolled back like contexts, so they count as a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContextKind {
    /// An agent context.
    Agent,
    /// A conversation context.
    Conversation,
    /// A mode.
    Mode,
}

impl ContextKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Agent, Self::Conversation, Self::Mode];

    /// Returns the value of `Kind`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Conversation => "conversation",
            Self::Mode => "mode",
        }
    }

    /// Returns the member of a document that has its id.
    #[must_use]
    pub fn id_member(self) -> &'static str {
        match self {
            Self::Agent | Self::Conversation => "Id",
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
}

impl ContextId {
    /// Returns the kind.
    #[must_use]
    pub fn kind(&self) -> ContextKind {
        match self {
            Self::Agent(_) => ContextKind::Agent,
            Self::Conversation(_) => ContextKind::Conversation,
            Self::Mode(_) => ContextKind::Mode,
        }
    }

    /// Returns the id, unique within its kind.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Agent(id) => id.as_str(),
            Self::Conversation(id) => id.as_str(),
            Self::Mode(key) => key.as_str(),
        }
    }

    /// True for the id of the built-in context, which no org may use for its own. An org may replace any mode.
    #[must_use]
    pub fn is_reserved(&self) -> bool {
        self.kind() != ContextKind::Mode && self.as_str() == BUILT_IN_CONTEXT
    }
}
