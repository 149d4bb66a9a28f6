//! Sessions and their summaries.

use serde::{Deserialize, Serialize};

use super::{AgentSessionTurn, Cost, EntityHeader, SessionRatings, TurnStatus};
use crate::{
    id::{AgentContextId, ConversationContextId, SessionId, TurnId},
    timestamp::Timestamp,
    usage::Usage,
};

/// Visibility of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Visible to every member of the org.
    #[default]
    Org,
    /// Visible to the owner, to users who took a turn in it, and to operators. Other callers get a 404.
    Participants,
}

impl Visibility {
    /// Every value with its wire name.
    pub const ALL: [(&str, Self); 2] = [("org", Self::Org), ("participants", Self::Participants)];
}

/// A durable conversation: a series of turns, owned by an org and a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct AgentSession {
    /// Id of the session.
    pub id: SessionId,
    /// Display name.
    pub name: String,
    /// Machine-readable key.
    pub key: String,
    /// Description.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub description: Option<String>,
    /// Category, as a user set it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub category: Option<String>,
    /// True if users outside the org may see it.
    pub is_public: bool,
    /// Visibility within the org.
    pub visibility: Visibility,
    /// The tenant that owns the session.
    pub owner_organization: EntityHeader,
    /// The user who started the session.
    pub owner_user: EntityHeader,
    /// Creation time.
    pub creation_date: Timestamp,
    /// Time of the last change.
    pub last_updated_date: Timestamp,
    /// True if the session is deleted.
    pub is_deleted: bool,
    /// Time of the deletion. Absent unless the session is deleted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deleted_date: Option<Timestamp>,
    /// Time until which the session can be restored. Absent unless it is deleted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kept_until_date: Option<Timestamp>,
    /// Time at which an operator quarantined the session. Absent unless it is quarantined.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub quarantined_date: Option<Timestamp>,
    /// True if the session is a draft.
    pub is_draft: bool,
    /// Id of the agent context, fixed by the first turn.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent_context_id: Option<AgentContextId>,
    /// Name of the context.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent_context_name: Option<String>,
    /// Id of the conversation context, fixed by the first turn.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub conversation_context_id: Option<ConversationContextId>,
    /// Name of the context.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub conversation_context_name: Option<String>,
    /// Version of the agent context that the session is pinned to. Absent if it follows the live one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent_context_version: Option<u32>,
    /// Version of the conversation context that the session is pinned to. Absent if it follows the live one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub conversation_context_version: Option<u32>,
    /// Id of the logical workspace.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub workspace_id: Option<String>,
    /// Repository for retrieval.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub repo: Option<String>,
    /// Language hint for retrieval.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub default_language: Option<String>,
    /// The turn that this session was forked from. Absent unless the session is a fork.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub forked_from: Option<ForkedFrom>,
    /// Key of the current mode.
    pub mode: String,
    /// Mode changes, newest first, at most 100.
    pub mode_history: Vec<ModeChange>,
    /// Token to read earlier changes from the session's mode history. Absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mode_history_continuation_token: Option<String>,
    /// Total token usage of all turns.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub total_usage: Option<Usage>,
    /// Total cost of all finished turns, one entry per currency. Absent without prices.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub total_costs: Vec<Cost>,
    /// Ratings of the turns. Absent without ratings.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ratings: Option<SessionRatings>,
    /// Users who took part, at most 100.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub participants: Vec<Participant>,
    /// Total number of turns.
    pub turn_count: u64,
    /// Turns of this page, by sequence number in the requested order.
    pub turns: Vec<AgentSessionTurn>,
    /// Token for the next page of turns. Absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub continuation_token: Option<String>,
}

/// The turn that a session was forked from. Earlier turns are in that session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct ForkedFrom {
    /// Id of the session.
    pub session_id: SessionId,
    /// Id of the turn.
    pub turn_id: TurnId,
}

/// A user who took part in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct Participant {
    /// The user.
    pub user: EntityHeader,
    /// Time of the user's last finalized turn, or of the first turn.
    pub last_activity_date: Timestamp,
}

/// A change of a session's mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct ModeChange {
    /// Key of the previous mode.
    pub previous_mode: String,
    /// Key of the new mode.
    pub new_mode: String,
    /// Time of the change.
    pub time_stamp: Timestamp,
    /// Reason, in the model's words.
    pub reason: String,
    /// True if the model suggested a separate session.
    pub branch: bool,
    /// Id of the turn that changed the mode.
    pub turn_id: TurnId,
    /// User of that turn.
    pub changed_by_user: EntityHeader,
    /// Org of the session.
    pub changed_by_organization: EntityHeader,
}

/// Summary of a session, as in lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct AgentSessionSummary {
    /// Id of the session.
    pub id: SessionId,
    /// Display name.
    pub name: String,
    /// Machine-readable key.
    pub key: String,
    /// Description.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub description: Option<String>,
    /// Category, as a user set it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub category: Option<String>,
    /// True if users outside the org may see it.
    pub is_public: bool,
    /// Visibility within the org.
    pub visibility: Visibility,
    /// True if the session is deleted.
    pub is_deleted: bool,
    /// Time of the deletion. Absent unless the session is deleted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deleted_date: Option<Timestamp>,
    /// Time until which the session can be restored. Absent unless it is deleted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kept_until_date: Option<Timestamp>,
    /// Time at which an operator quarantined the session. Absent unless it is quarantined.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub quarantined_date: Option<Timestamp>,
    /// Time of the last change.
    pub last_updated_date: Timestamp,
    /// Id of the agent context.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent_context_id: Option<AgentContextId>,
    /// Name of the context.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent_context_name: Option<String>,
    /// Id of the conversation context.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub conversation_context_id: Option<ConversationContextId>,
    /// Name of the context.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub conversation_context_name: Option<String>,
    /// Version of the agent context that the session is pinned to. Absent if it follows the live one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent_context_version: Option<u32>,
    /// Version of the conversation context that the session is pinned to. Absent if it follows the live one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub conversation_context_version: Option<u32>,
    /// Status of the last turn. Absent if there are no turns.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_turn_status: Option<TurnStatus>,
    /// Time of the last turn's latest status change, or of its creation.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_turn_date: Option<Timestamp>,
    /// Number of turns.
    pub turn_count: u64,
    /// Ratings of the turns. Absent without ratings.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ratings: Option<SessionRatings>,
}
