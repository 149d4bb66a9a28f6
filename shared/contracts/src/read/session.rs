//! Sessions: the whole of one, and a line of a list.

use serde::{Deserialize, Serialize};

use super::{AgentSessionTurn, Cost, EntityHeader, TurnStatus};
use crate::{
    id::{AgentContextId, ConversationContextId, SessionId, TurnId},
    timestamp::Timestamp,
    usage::Usage,
};

/// Who may see a session (DD-003).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Every member of its org.
    #[default]
    Org,
    /// Its owner, whoever took a turn in it, and operators. To everybody else there is no such session.
    Participants,
}

impl Visibility {
    /// Every one, with its word.
    pub const ALL: [(&str, Self); 2] = [("org", Self::Org), ("participants", Self::Participants)];
}

/// A durable thread of turns, owned by an org and a user (DD-002A).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct AgentSession {
    /// The session.
    pub id: SessionId,
    /// What people call it.
    pub name: String,
    /// What machines call it.
    pub key: String,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub description: Option<String>,
    /// Whether others than the org may see it.
    pub is_public: bool,
    /// Who of the org may see it.
    pub visibility: Visibility,
    /// The tenant.
    pub owner_organization: EntityHeader,
    /// Who started it.
    pub owner_user: EntityHeader,
    /// When it was started.
    pub creation_date: Timestamp,
    /// When it last changed.
    pub last_updated_date: Timestamp,
    /// Whether it was deleted.
    pub is_deleted: bool,
    /// When it was deleted; absent unless it was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deleted_date: Option<Timestamp>,
    /// Until when it is kept and can be restored; absent unless it was deleted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kept_until_date: Option<Timestamp>,
    /// Whether it is a draft.
    pub is_draft: bool,
    /// The agent context, fixed by the first turn.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent_context_id: Option<AgentContextId>,
    /// Its name (DD-007).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent_context_name: Option<String>,
    /// The conversation context, fixed by the first turn.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub conversation_context_id: Option<ConversationContextId>,
    /// Its name (DD-007).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub conversation_context_name: Option<String>,
    /// The logical workspace.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub workspace_id: Option<String>,
    /// The repository for retrieval.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub repo: Option<String>,
    /// The language hint for retrieval.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub default_language: Option<String>,
    /// The turn of another session that this one goes on from; absent where it is no fork.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub forked_from: Option<ForkedFrom>,
    /// The current mode's key (AGN-011 §3.2).
    pub mode: String,
    /// The changes of the mode, newest first, at most a hundred (AGN-011 §3.2).
    pub mode_history: Vec<ModeChange>,
    /// What to ask for earlier changes with, at the session's mode history; absent when these are all.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mode_history_continuation_token: Option<String>,
    /// Tokens of all turns together.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub total_usage: Option<Usage>,
    /// What all finished turns cost, one entry per currency; absent without prices.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub total_costs: Vec<Cost>,
    /// Who took part, at most a hundred.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub participants: Vec<Participant>,
    /// How many turns there are, on all pages.
    pub turn_count: u64,
    /// The turns of this page, by sequence number, or from the last one back where the query says so.
    pub turns: Vec<AgentSessionTurn>,
    /// What to ask for the next turns with; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub continuation_token: Option<String>,
}

/// The turn that a session was forked from. What came before is read there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct ForkedFrom {
    /// Its session.
    pub session_id: SessionId,
    /// The turn.
    pub turn_id: TurnId,
}

/// A user who took part in a session (DD-003).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct Participant {
    /// Who.
    pub user: EntityHeader,
    /// That user's own last turn, once it is finalized, or the first.
    pub last_activity_date: Timestamp,
}

/// An entry of a session's mode history (AGN-011 §3.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct ModeChange {
    /// The mode before.
    pub previous_mode: String,
    /// The mode from then on.
    pub new_mode: String,
    /// When it changed.
    pub time_stamp: Timestamp,
    /// Why, in the model's words.
    pub reason: String,
    /// Whether the model suggested a session of its own (AGN-011 §5.6).
    pub branch: bool,
    /// The turn that changed it.
    pub turn_id: TurnId,
    /// Whose turn that was.
    pub changed_by_user: EntityHeader,
    /// The org that the session belongs to.
    pub changed_by_organization: EntityHeader,
}

/// A session as a line of a list (DD-003, DD-007).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct AgentSessionSummary {
    /// The session.
    pub id: SessionId,
    /// What people call it.
    pub name: String,
    /// What machines call it.
    pub key: String,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub description: Option<String>,
    /// Whether others than the org may see it.
    pub is_public: bool,
    /// Who of the org may see it.
    pub visibility: Visibility,
    /// Whether it was deleted.
    pub is_deleted: bool,
    /// When it was deleted; absent unless it was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deleted_date: Option<Timestamp>,
    /// Until when it is kept and can be restored; absent unless it was deleted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kept_until_date: Option<Timestamp>,
    /// When it last changed.
    pub last_updated_date: Timestamp,
    /// The agent context.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent_context_id: Option<AgentContextId>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent_context_name: Option<String>,
    /// The conversation context.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub conversation_context_id: Option<ConversationContextId>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub conversation_context_name: Option<String>,
    /// Where the last turn stands; absent while there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_turn_status: Option<TurnStatus>,
    /// When the last turn's status changed, or when it was created.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_turn_date: Option<Timestamp>,
    /// How many turns there are.
    pub turn_count: u64,
}
