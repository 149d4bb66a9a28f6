//! A context of any kind.

use serde::{Deserialize, Serialize};

use super::{AgentContext, ContextId, ContextKind, ConversationContext};
use crate::{connection::Connection, mode::Mode, webhook::Webhook};

/// A context, a mode, a connection or a webhook, tagged by its `Kind`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "Kind")]
#[expect(clippy::large_enum_variant, reason = "documents are read and written one by one")]
pub enum Document {
    /// `"Kind": "agent"`.
    #[serde(rename = "agent")]
    AgentContext(AgentContext),
    /// `"Kind": "conversation"`.
    #[serde(rename = "conversation")]
    ConversationContext(ConversationContext),
    /// `"Kind": "mode"`.
    #[serde(rename = "mode")]
    Mode(Mode),
    /// `"Kind": "connection"`.
    #[serde(rename = "connection")]
    Connection(Connection),
    /// `"Kind": "webhook"`.
    #[serde(rename = "webhook")]
    Webhook(Webhook),
}

impl Document {
    /// Reads the stored form of a context, which has no `Kind`.
    ///
    /// # Errors
    /// If it isn't a context of this kind.
    pub fn from_stored(kind: ContextKind, json: &str) -> serde_json::Result<Self> {
        Ok(match kind {
            ContextKind::Agent => Self::AgentContext(serde_json::from_str(json)?),
            ContextKind::Conversation => Self::ConversationContext(serde_json::from_str(json)?),
            ContextKind::Mode => Self::Mode(serde_json::from_str(json)?),
            ContextKind::Connection => Self::Connection(serde_json::from_str(json)?),
            ContextKind::Webhook => Self::Webhook(serde_json::from_str(json)?),
        })
    }

    /// Returns the stored form.
    ///
    /// # Errors
    /// Never in practice: a context holds only strings, numbers and lists.
    pub fn to_stored(&self) -> serde_json::Result<String> {
        match self {
            Self::AgentContext(context) => serde_json::to_string(context),
            Self::ConversationContext(context) => serde_json::to_string(context),
            Self::Mode(mode) => serde_json::to_string(mode),
            Self::Connection(connection) => serde_json::to_string(connection),
            Self::Webhook(webhook) => serde_json::to_string(webhook),
        }
    }

    /// Returns the id with the kind.
    #[must_use]
    pub fn context_id(&self) -> ContextId {
        match self {
            Self::AgentContext(context) => ContextId::Agent(context.id.clone()),
            Self::ConversationContext(context) => ContextId::Conversation(context.id.clone()),
            Self::Mode(mode) => ContextId::Mode(mode.key.clone()),
            Self::Connection(connection) => ContextId::Connection(connection.id.clone()),
            Self::Webhook(webhook) => ContextId::Webhook(webhook.id.clone()),
        }
    }

    /// Returns the value of `Kind`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::AgentContext(_) => ContextKind::Agent.name(),
            Self::ConversationContext(_) => ContextKind::Conversation.name(),
            Self::Mode(_) => ContextKind::Mode.name(),
            Self::Connection(_) => ContextKind::Connection.name(),
            Self::Webhook(_) => ContextKind::Webhook.name(),
        }
    }

    /// Returns the context's id or the mode's key, unique within its kind.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::AgentContext(context) => context.id.as_str(),
            Self::ConversationContext(context) => context.id.as_str(),
            Self::Mode(mode) => mode.key.as_str(),
            Self::Connection(connection) => connection.id.as_str(),
            Self::Webhook(webhook) => webhook.id.as_str(),
        }
    }

    /// Returns the context's name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::AgentContext(context) => &context.name,
            Self::ConversationContext(context) => &context.name,
            Self::Mode(mode) => &mode.display_name,
            Self::Connection(connection) => &connection.name,
            Self::Webhook(webhook) => &webhook.name,
        }
    }

    /// Returns the replacement that a deprecated context names.
    #[must_use]
    pub fn deprecated(&self) -> Option<&str> {
        match self {
            Self::AgentContext(context) => context.deprecated.as_deref(),
            Self::ConversationContext(context) => context.deprecated.as_deref(),
            Self::Mode(mode) => mode.deprecated.as_deref(),
            Self::Connection(connection) => connection.deprecated.as_deref(),
            Self::Webhook(webhook) => webhook.deprecated.as_deref(),
        }
    }
}
