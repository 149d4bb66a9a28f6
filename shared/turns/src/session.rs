//! A session: what a start or a finalize has to know and change.

use contracts::{
    Timestamp, Usage,
    caller::User,
    id::{AgentContextId, ConversationContextId, TurnId},
    read::TurnStatus,
};

use crate::id::SessionKey;

/// A durable conversation (DD-002A).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Session {
    /// Which session.
    pub key: SessionKey,
    /// Raised by every start, finalize, delete and purge; their condition (LIFECYCLE rule 4).
    pub rev: u64,
    /// What lists call it: the head of its first instruction.
    pub name: String,
    /// Who started it.
    pub owner: User,
    /// When it was created.
    pub created: Timestamp,
    /// What the session list is ordered by; moves when a turn is finalized.
    pub last_activity: Timestamp,
    /// How many turns it has: the last sequence number (I3).
    pub turn_count: u64,
    /// The turn that is not terminal yet, if any.
    pub open_turn: Option<TurnId>,
    /// The newest turn.
    pub last_turn: LastTurn,
    /// The response to continue from: the last *completed* turn's.
    pub chain: Option<ChainHead>,
    /// The mode, a catalog key (AGN-011 §3.2).
    pub mode: String,
    /// Tokens of all finalized turns.
    pub usage: Usage,
    /// Fixed by the first turn.
    pub contexts: Contexts,
    /// Latched hints.
    pub hints: Hints,
}

/// The newest turn of a session (DD-003).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LastTurn {
    /// Which turn.
    pub id: TurnId,
    /// Its stored status: pending from its start until it is finalized.
    pub status: TurnStatus,
    /// Its creation, then its status timestamp.
    pub at: Timestamp,
}

/// Where the provider's side of the conversation stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChainHead {
    /// The provider's id of the last completed turn's response.
    pub response_id: String,
    /// The model it came from.
    pub model: String,
    /// The mode whose instructions it was last told.
    pub told_mode: Option<String>,
    /// The last instant at which it may be relied on (DD-002B, `OpenAIChainExpiresDate`).
    pub expires: Timestamp,
}

/// The contexts of a session: fixed by its first turn, another id later is a conflict.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Contexts {
    /// The agent context.
    pub agent: Option<AgentContextId>,
    /// The conversation context.
    pub conversation: Option<ConversationContextId>,
}

/// Advisory hints: the newest one given stays (AGN-034 §4.6).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Hints {
    /// The workspace.
    pub workspace: Option<String>,
    /// The repository.
    pub repo: Option<String>,
    /// The language.
    pub language: Option<String>,
}

impl Contexts {
    /// Whether a later turn that names these contexts belongs to a session that has `fixed`.
    #[must_use]
    pub fn agree_with(&self, fixed: &Self) -> bool {
        let agrees = |asked: Option<&str>, fixed: Option<&str>| asked.is_none() || asked == fixed;
        agrees(
            self.agent.as_ref().map(AgentContextId::as_str),
            fixed.agent.as_ref().map(AgentContextId::as_str),
        ) && agrees(
            self.conversation.as_ref().map(ConversationContextId::as_str),
            fixed.conversation.as_ref().map(ConversationContextId::as_str),
        )
    }
}

impl Hints {
    /// These hints, and where one is absent the one that stood before.
    #[must_use]
    pub fn latched_over(self, before: &Self) -> Self {
        Self {
            workspace: self.workspace.or_else(|| before.workspace.clone()),
            repo: self.repo.or_else(|| before.repo.clone()),
            language: self.language.or_else(|| before.language.clone()),
        }
    }
}

impl ChainHead {
    /// The response id, while it may be relied on.
    #[must_use]
    pub fn usable(&self, now: Timestamp) -> Option<&str> {
        (now < self.expires).then_some(self.response_id.as_str())
    }
}
