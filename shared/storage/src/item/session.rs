//! The stored session.

use contracts::{
    Fingerprint, Timestamp, Usage,
    id::{AgentContextId, ConversationContextId, SessionId, TurnId, UserId},
    read::{TurnStatus, Visibility},
};
use protocol::caller::User;
use protocol::{
    ancestry::{Cutoff, ForkOrigin, ParentRef},
    cost::Cost,
    id::SessionKey,
    ratings::Ratings,
    session::{
        ChainHead, ContextPins, Contexts, Deletion, Hints, LastTurn, NameSource, Quarantine, Session,
        SolutionContext,
    },
};
use serde::{Deserialize, Serialize};

use super::Entity;
use crate::key;

/// The optional attributes.
pub(crate) const OPTIONAL: &[&str] = &[
    "GSI1PK",
    "GSI1SK",
    "AgentContextId",
    "ConversationContextId",
    "AgentContextVersion",
    "ConversationContextVersion",
    "NameSource",
    "Description",
    "Category",
    "Visibility",
    "Edited",
    "Deleted",
    "Quarantine",
    "OpenTurn",
    "LastTurn",
    "LastTurnStatus",
    "LastTurnDate",
    "Tip",
    "TipSession",
    "ForkedFrom",
    "Cutoff",
    "ChainResponseId",
    "ChainModel",
    "ChainProvider",
    "ChainMode",
    "ChainSolution",
    "ChainContextTokens",
    "ChainExpires",
    "StatelessProvider",
    "WorkspaceId",
    "Repo",
    "Language",
    "Costs",
    "Solution",
];

/// The sums of the ratings. Feedback adds to them without a new `Rev`, so a commit sets them only where the item has
/// none: then they come with an import.
pub(crate) const RATINGS: &[&str] = &["RatingCount", "RatingSum"];

/// See [`key::Item::Session`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct SessionItem {
    /// Absent on purged sessions, which no list shows.
    #[serde(rename = "GSI1PK", skip_serializing_if = "Option::is_none", default)]
    gsi1pk: Option<String>,
    #[serde(rename = "GSI1SK", skip_serializing_if = "Option::is_none", default)]
    gsi1sk: Option<String>,
    rev: u64,
    name: String,
    /// Absent for the excerpt of the first instruction.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    name_source: Option<NameSource>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    category: Option<String>,
    /// Absent if every member of the org can see the session.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    visibility: Option<Visibility>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    edited: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    deleted: Option<DeletedAttribute>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    quarantine: Option<Quarantine>,
    owner_id: UserId,
    owner_name: String,
    created: Timestamp,
    last_activity: Timestamp,
    turn_count: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    open_turn: Option<TurnId>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    last_turn: Option<TurnId>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    last_turn_status: Option<TurnStatus>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    last_turn_date: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    tip: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    tip_session: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    forked_from: Option<ForkOrigin>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    cutoff: Option<Cutoff>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    chain_response_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    chain_model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    chain_provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    chain_mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    chain_solution: Option<Fingerprint>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    chain_context_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    chain_expires: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    stateless_provider: Option<String>,
    mode: String,
    usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    agent_context_id: Option<AgentContextId>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    conversation_context_id: Option<ConversationContextId>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    agent_context_version: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    conversation_context_version: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    workspace_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    repo: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    language: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    costs: Vec<Cost>,
    /// Absent without ratings.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    rating_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    rating_sum: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    solution: Option<SolutionContext>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DeletedAttribute {
    at: Timestamp,
    by: UserId,
    retained_until: Timestamp,
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    purged: bool,
}

impl Entity for Session {
    type Item = SessionItem;

    fn key(&self) -> key::Item<'_> {
        key::Item::Session(&self.key)
    }
}

impl From<&Session> for SessionItem {
    fn from(session: &Session) -> Self {
        let (chain, last) = (session.chain.as_ref(), session.last_turn.as_ref());
        let listed = !session.is_purged();
        let rated = Some(session.ratings).filter(|ratings| ratings.count > 0);
        Self {
            gsi1pk: listed.then(|| key::org_index(&session.key.org)),
            gsi1sk: listed.then(|| key::activity(session.last_activity, &session.key)),
            rev: session.rev,
            name: session.name.clone(),
            name_source: Some(session.name_source).filter(|source| *source != NameSource::default()),
            description: session.description.clone(),
            category: session.category.clone(),
            visibility: Some(session.visibility).filter(|visibility| *visibility != Visibility::Org),
            edited: session.edited,
            deleted: session.deleted.clone().map(|Deletion { at, by, retained_until, purged }| {
                DeletedAttribute { at, by, retained_until, purged }
            }),
            quarantine: session.quarantine.clone(),
            owner_id: session.owner.id.clone(),
            owner_name: session.owner.name.clone(),
            created: session.created,
            last_activity: session.last_activity,
            turn_count: session.turn_count,
            open_turn: session.open_turn.clone(),
            last_turn: last.map(|last| last.id.clone()),
            last_turn_status: last.map(|last| last.status),
            last_turn_date: last.map(|last| last.at),
            tip: session.tip.as_ref().map(|tip| tip.sequence),
            tip_session: session.tip.as_ref().and_then(|tip| tip.session.clone()),
            forked_from: session.forked_from.clone(),
            cutoff: session.cutoff.clone(),
            chain_response_id: chain.map(|chain| chain.response_id.clone()),
            chain_model: chain.map(|chain| chain.model.clone()),
            chain_provider: chain.and_then(|chain| chain.provider.clone()),
            chain_mode: chain.and_then(|chain| chain.mode.clone()),
            chain_solution: chain.and_then(|chain| chain.solution),
            chain_context_tokens: chain.map(|chain| chain.context_tokens).filter(|tokens| *tokens > 0),
            chain_expires: chain.map(|chain| chain.expires),
            stateless_provider: session.stateless_provider.clone(),
            mode: session.mode.clone(),
            usage: session.usage,
            agent_context_id: session.contexts.agent.clone(),
            conversation_context_id: session.contexts.conversation.clone(),
            agent_context_version: session.contexts.pins.agent,
            conversation_context_version: session.contexts.pins.conversation,
            workspace_id: session.hints.workspace.clone(),
            repo: session.hints.repo.clone(),
            language: session.hints.language.clone(),
            costs: session.costs.clone(),
            rating_count: rated.map(|ratings| ratings.count),
            rating_sum: rated.map(|ratings| ratings.sum),
            solution: session.solution.clone(),
        }
    }
}

impl SessionItem {
    pub(crate) fn into_session(self, key: SessionKey) -> Session {
        let chain = match (self.chain_response_id, self.chain_model, self.chain_expires) {
            (Some(response_id), Some(model), Some(expires)) => Some(ChainHead {
                response_id,
                model,
                provider: self.chain_provider,
                mode: self.chain_mode,
                solution: self.chain_solution,
                context_tokens: self.chain_context_tokens.unwrap_or_default(),
                expires,
            }),
            _ => None,
        };
        Session {
            key,
            rev: self.rev,
            name: self.name,
            name_source: self.name_source.unwrap_or_default(),
            description: self.description,
            category: self.category,
            visibility: self.visibility.unwrap_or_default(),
            edited: self.edited,
            deleted: self.deleted.map(|DeletedAttribute { at, by, retained_until, purged }| Deletion {
                at,
                by,
                retained_until,
                purged,
            }),
            quarantine: self.quarantine,
            owner: User { id: self.owner_id, name: self.owner_name },
            created: self.created,
            last_activity: self.last_activity,
            turn_count: self.turn_count,
            open_turn: self.open_turn,
            last_turn: match (self.last_turn, self.last_turn_status, self.last_turn_date) {
                (Some(id), Some(status), Some(at)) => Some(LastTurn { id, status, at }),
                _ => None,
            },
            tip: self.tip.map(|sequence| ParentRef { session: self.tip_session, sequence }),
            forked_from: self.forked_from,
            cutoff: self.cutoff,
            chain,
            stateless_provider: self.stateless_provider,
            mode: self.mode,
            usage: self.usage,
            contexts: Contexts {
                agent: self.agent_context_id,
                conversation: self.conversation_context_id,
                pins: ContextPins {
                    agent: self.agent_context_version,
                    conversation: self.conversation_context_version,
                },
            },
            hints: Hints { workspace: self.workspace_id, repo: self.repo, language: self.language },
            costs: self.costs,
            ratings: Ratings {
                count: self.rating_count.unwrap_or_default(),
                sum: self.rating_sum.unwrap_or_default(),
            },
            solution: self.solution,
        }
    }
}
