//! A session: the state that a start or a finalize reads and changes.

use crate::caller::User;
use contracts::{
    Fingerprint, Timestamp, Usage,
    id::{self, AgentContextId, ConversationContextId, SessionId, TurnId, UserId},
    read::{TurnStatus, Visibility},
};

use serde::{Deserialize, Serialize};

use crate::{
    ancestry::{Cutoff, ForkOrigin, LostAncestor, ParentRef},
    caller::Caller,
    cost::Cost,
    id::{AttemptId, SessionKey},
    payload::StoredRequest,
    ratings::Ratings,
};

/// The maximum number of currencies in a session's cost.
const MAX_CURRENCIES: usize = 4;

/// A durable conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Session {
    /// The session's key.
    pub key: SessionKey,
    /// The revision. Every start, finalize, title, edit, delete and restore increments it and requires the revision that it
    /// read (rule 4).
    pub rev: u64,
    /// The display name.
    pub name: String,
    /// The source of the name.
    pub name_source: NameSource,
    /// A user's description of the session.
    pub description: Option<String>,
    /// A user's category of the session, by which lists can be filtered.
    pub category: Option<String>,
    /// The part of the org that may see it.
    pub visibility: Visibility,
    /// The time of the last edit, deletion or restore.
    pub edited: Option<Timestamp>,
    /// The deletion, if it was deleted. A deleted session accepts no turns (rule 12).
    pub deleted: Option<Deletion>,
    /// The quarantine, if an operator put it there. It accepts nothing until its release (rule 12).
    pub quarantine: Option<Quarantine>,
    /// The user who started it.
    pub owner: User,
    /// The creation time.
    pub created: Timestamp,
    /// The time by which session lists are ordered. Changes when a turn is finalized.
    pub last_activity: Timestamp,
    /// The number of turns, which is the last sequence number (I3).
    pub turn_count: u64,
    /// The turn that is not terminal yet, if any.
    pub open_turn: Option<TurnId>,
    /// The newest turn. Absent for a fork without turns of its own.
    pub last_turn: Option<LastTurn>,
    /// The next turn's parent, if that is not the newest turn. Set to the earlier parent while a rerun is open and
    /// after it failed, and to the forked turn for a fork without turns.
    pub tip: Option<ParentRef>,
    /// The turn of another session that this one was forked from.
    pub forked_from: Option<ForkOrigin>,
    /// The cutoff of its ancestry, if a session in the ancestry was purged or hidden.
    pub cutoff: Option<Cutoff>,
    /// The response to continue from: the last *completed* turn's.
    pub chain: Option<ChainHead>,
    /// A provider that turned out to be stateless.
    pub stateless_provider: Option<String>,
    /// The mode, a catalog key.
    pub mode: String,
    /// The tokens of all finalized turns.
    pub usage: Usage,
    /// The cost of all finalized turns, with one entry per currency. Turns without prices are not included.
    pub costs: Vec<Cost>,
    /// The ratings of its turns. Only feedback changes them.
    pub ratings: Ratings,
    /// The contexts, fixed by the first turn.
    pub contexts: Contexts,
    /// The latched hints.
    pub hints: Hints,
    /// The latched solution context.
    pub solution: Option<SolutionContext>,
}

impl Session {
    /// Returns the parent of the next turn, unless that turn is a rerun.
    #[must_use]
    pub fn next_parent(&self) -> ParentRef {
        self.tip.clone().unwrap_or_else(|| ParentRef::in_session(self.turn_count))
    }

    /// Returns the depth of the first turn that started without the lost session, or 0 without a cutoff.
    #[must_use]
    pub fn cutoff_depth(&self) -> u64 {
        self.cutoff.as_ref().map_or(0, |cutoff| self.base_depth().saturating_add(cutoff.sequence))
    }

    /// Returns the depth of the last turn that the ancestry leaves out because its session is hidden, or 0.
    #[must_use]
    pub fn hidden_depth(&self) -> u64 {
        self.cutoff.as_ref().map_or(0, |cutoff| cutoff.hidden_depth)
    }

    /// Returns the session without anything that depends on the lost session: its response chain, and a solution
    /// context stored in or before it.
    #[must_use]
    pub fn with_cutoff(&self, lost: &LostAncestor) -> Self {
        let still_exists = |solution: &SolutionContext| {
            solution.session.as_ref().is_none_or(|session| {
                *session == self.key.session || lost.remaining_ancestors.contains(session)
            })
        };
        Self {
            cutoff: Some(Cutoff {
                session: lost.session.clone(),
                sequence: self.turn_count.saturating_add(1),
                hidden_depth: lost.hidden_depth,
            }),
            chain: None,
            solution: self.solution.clone().filter(still_exists),
            ..self.clone()
        }
    }

    /// Returns the depth of the turn that the session was forked from, or 0.
    #[must_use]
    pub fn base_depth(&self) -> u64 {
        self.forked_from.as_ref().map_or(0, |origin| origin.depth)
    }
}

/// The source of a session's name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameSource {
    /// An excerpt of the first instruction.
    #[default]
    Excerpt,
    /// The excerpt, after a finalizer has claimed the only model call for a title.
    Requested,
    /// The title that the model wrote.
    Model,
    /// A user.
    User,
}

/// The deletion of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Deletion {
    /// The time of the deletion.
    pub at: Timestamp,
    /// The user who deleted it.
    pub by: UserId,
    /// The end of the retention.
    pub retained_until: Timestamp,
    /// True from the start of the purge on. Only this tombstone is left then, and the session can't be restored.
    pub purged: bool,
}

/// The quarantine of a session. Never together with a deletion.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Quarantine {
    /// The time at which it began.
    pub at: Timestamp,
    /// The operator who ordered it.
    pub by: UserId,
}

/// The reason that a session accepts no turns, results or changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SessionClosed {
    /// It was deleted.
    #[error("the session was deleted")]
    Deleted,
    /// An operator quarantined it.
    #[error("the session is quarantined")]
    Quarantined,
}

/// The origin of a session's id, which decides on the sessions that a submission may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum IdOrigin {
    /// The client chose the id. It may name any session that the user may see.
    #[default]
    Client,
    /// The service derived the id from the request. Nobody named a session, so the only ones to use are a new one and
    /// the user's own.
    Derived,
}

impl IdOrigin {
    /// True if a user's submission may use the session that is stored under the id, or create it. Not if it is deleted
    /// or purged: the request never referred to that one.
    #[must_use]
    pub fn admits(self, stored: Option<&Session>, user: &UserId) -> bool {
        let is_own = |session: &Session| session.owner.id == *user && session.deleted.is_none();
        self == Self::Client || stored.is_none_or(is_own)
    }
}

/// A user's role in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SessionRole {
    /// The user started the session.
    Owner,
    /// The user took a turn in it.
    Participant,
    /// The user did neither.
    None,
}

/// The location of a session's solution context: the request of the turn that set it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct SolutionContext {
    /// The session of that turn. Another session's in a fork; absent means the session itself, from before forks
    /// existed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<SessionId>,
    /// The turn that set it.
    pub turn: TurnId,
    /// The fingerprint of that turn's request.
    pub request: Fingerprint,
    /// The submission that stored the request (rule 2).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub submission_id: Option<AttemptId>,
    /// The hash of the text, which is compared with the text last sent in a chain.
    pub text: Fingerprint,
}

impl SolutionContext {
    /// Returns the name of the stored request that holds the text.
    #[must_use]
    pub fn stored_request(&self) -> StoredRequest {
        StoredRequest { fingerprint: self.request, submission_id: self.submission_id.clone() }
    }
}

/// A request's change of the solution context.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SolutionChange {
    /// The request has no solution context.
    #[default]
    Unchanged,
    /// The request has an empty solution context.
    Removed,
    /// The request has a new solution context.
    Replaced(SolutionContext),
}

impl SolutionChange {
    /// Returns the latched solution context after the change. A text that is the same as before leaves the reference
    /// unchanged.
    #[must_use]
    pub fn apply_to(&self, before: Option<&SolutionContext>) -> Option<SolutionContext> {
        match self {
            Self::Unchanged => before.cloned(),
            Self::Removed => None,
            Self::Replaced(now) => {
                Some(before.filter(|before| before.text == now.text).unwrap_or(now).clone())
            }
        }
    }
}

/// The newest turn of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LastTurn {
    /// The turn.
    pub id: TurnId,
    /// The stored status, which is pending from the turn's start until it is finalized.
    pub status: TurnStatus,
    /// The creation time, later the status timestamp.
    pub at: Timestamp,
}

/// The head of the response chain at the provider.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChainHead {
    /// The provider's id of the last completed turn's response.
    pub response_id: String,
    /// The model that wrote it.
    pub model: String,
    /// The provider that stores it, if recorded.
    pub provider: Option<String>,
    /// The mode whose instructions were last sent in the chain.
    pub mode: Option<String>,
    /// The solution context that was last sent in the chain, as the hash of its text.
    pub solution: Option<Fingerprint>,
    /// The tokens of the conversation up to the response, if recorded, else zero.
    pub context_tokens: u64,
    /// The time until which the response may be relied on (`OpenAIChainExpiresDate`).
    pub expires: Timestamp,
}

/// The contexts of a session. The first turn fixes them, and a later turn with other contexts is a conflict. An
/// absent context is the service's built-in one, which can also be given by its id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Contexts {
    /// The agent context.
    pub agent: Option<AgentContextId>,
    /// The conversation context.
    pub conversation: Option<ConversationContextId>,
    /// The versions that the session is pinned to. No turn changes them.
    pub pins: ContextPins,
}

/// The versions of its contexts that a session is pinned to. An absent one follows the live content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct ContextPins {
    /// The version of the agent context.
    pub agent: Option<u32>,
    /// The version of the conversation context.
    pub conversation: Option<u32>,
}

/// Advisory hints. The newest value of each stays in effect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Hints {
    /// The workspace.
    pub workspace: Option<String>,
    /// The repository.
    pub repo: Option<String>,
    /// The language.
    pub language: Option<String>,
}

impl Session {
    /// True if a caller with this role may see the session. For everybody else the session does not exist.
    #[must_use]
    pub fn is_visible_to(&self, caller: &Caller, role: SessionRole) -> bool {
        if self.is_purged() {
            return false;
        }
        let open_to_all = self.visibility == Visibility::Org && self.deleted.is_none();
        open_to_all || caller.operator || role != SessionRole::None
    }

    /// True from the start of the session's purge on.
    #[must_use]
    pub fn is_purged(&self) -> bool {
        self.deleted.as_ref().is_some_and(|deletion| deletion.purged)
    }

    /// Requires a session that accepts turns, results and changes.
    ///
    /// # Errors
    /// Returns an error if it is deleted or quarantined.
    pub fn ensure_open(&self) -> Result<(), SessionClosed> {
        match self.deleted {
            Some(_) => Err(SessionClosed::Deleted),
            None => self.ensure_released(),
        }
    }

    /// Requires a session that is not quarantined.
    ///
    /// # Errors
    /// Returns an error if it is quarantined.
    pub fn ensure_released(&self) -> Result<(), SessionClosed> {
        match self.quarantine {
            Some(_) => Err(SessionClosed::Quarantined),
            None => Ok(()),
        }
    }

    /// Returns the tombstone that a purge leaves: the owner's id, the deletion and times, but no contents.
    #[must_use]
    pub fn tombstone(&self) -> Self {
        Self {
            key: self.key.clone(),
            rev: self.rev,
            name: String::new(),
            name_source: NameSource::default(),
            description: None,
            category: None,
            visibility: Visibility::Participants,
            edited: self.edited,
            deleted: self.deleted.clone(),
            quarantine: None,
            owner: User { id: self.owner.id.clone(), name: String::new() },
            created: self.created,
            last_activity: self.last_activity,
            turn_count: self.turn_count,
            open_turn: None,
            last_turn: None,
            tip: None,
            forked_from: None,
            cutoff: None,
            chain: None,
            stateless_provider: None,
            mode: String::new(),
            usage: Usage::default(),
            costs: Vec::new(),
            ratings: Ratings::default(),
            contexts: Contexts::default(),
            hints: Hints::default(),
            solution: None,
        }
    }

    /// True if the caller may delete the session and change its visibility.
    #[must_use]
    pub fn is_administered_by(&self, caller: &Caller) -> bool {
        caller.operator || self.owner.id == caller.user.id
    }

    /// Returns the time of the last change.
    #[must_use]
    pub fn last_updated(&self) -> Timestamp {
        let last_turn_at = self.last_turn.as_ref().map_or(self.created, |last| last.at);
        last_turn_at.max(self.last_activity).max(self.edited.unwrap_or(self.created))
    }
}

impl Contexts {
    /// The id of the agent; the built-in one has an id too.
    #[must_use]
    pub fn agent_id(&self) -> &str {
        self.agent.as_ref().map_or(id::BUILT_IN_CONTEXT, AgentContextId::as_str)
    }

    /// True if a turn with these contexts may join a session whose contexts are `fixed`.
    #[must_use]
    pub fn agree_with(&self, fixed: &Self) -> bool {
        let agrees = |requested: Option<&str>, fixed: Option<&str>| {
            requested.is_none_or(|requested| requested == fixed.unwrap_or(id::BUILT_IN_CONTEXT))
        };
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
    /// Returns these hints, with absent ones filled from `before`.
    #[must_use]
    pub fn latched_over(self, before: &Self) -> Self {
        Self {
            workspace: self.workspace.or_else(|| before.workspace.clone()),
            repo: self.repo.or_else(|| before.repo.clone()),
            language: self.language.or_else(|| before.language.clone()),
        }
    }
}

/// Adds a cost to the totals per currency. Beyond the maximum number of currencies, costs in further currencies are
/// dropped.
#[must_use]
pub fn add_cost(mut costs: Vec<Cost>, cost: Option<&Cost>) -> Vec<Cost> {
    let Some(cost) = cost else { return costs };
    if let Some(total) = costs.iter_mut().find(|total| total.currency == cost.currency) {
        total.amount = total.amount.plus(cost.amount);
    } else if costs.len() < MAX_CURRENCIES {
        costs.push(cost.clone());
    }
    costs
}
