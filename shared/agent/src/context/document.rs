//! A context of either kind.

use serde::{Deserialize, Serialize};

use super::{AgentContext, ConversationContext};

/// A context, tagged by its `Kind`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "Kind")]
#[expect(clippy::large_enum_variant, reason = "a file holds a handful, and each is read once")]
pub enum Document {
    /// `"Kind": "agent"`.
    #[serde(rename = "agent")]
    AgentContext(AgentContext),
    /// `"Kind": "conversation"`.
    #[serde(rename = "conversation")]
    ConversationContext(ConversationContext),
}

impl Document {
    /// Returns the value of `Kind`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::AgentContext(_) => "agent",
            Self::ConversationContext(_) => "conversation",
        }
    }

    /// Returns the context's id, unique among those of its kind.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::AgentContext(context) => context.id.as_str(),
            Self::ConversationContext(context) => context.id.as_str(),
        }
    }

    /// Returns the context's name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::AgentContext(context) => &context.name,
            Self::ConversationContext(context) => &context.name,
        }
    }
}
