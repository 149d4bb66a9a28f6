//! A session: what a start or a finalize has to know and change.

use crate::caller::User;
use contracts::{
    Fingerprint, Timestamp, Usage,
    id::{self, AgentContextId, ConversationContextId, SessionId, TurnId, UserId},
    read::{TurnStatus, Visibility},
};

use serde::{Deserialize, Serialize};

use crate::{
    caller::Caller,
    cost::Cost,
    id::{AttemptId, SessionKey},
    line::{After, Cut, ForkedFrom},
    payload::StoredRequest,
};

/// The most currencies in which a session's cost is kept.
const MOST_CURRENCIES: usize = 4;

/// A durable conversation (DD-002A).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Session {
    /// Which session.
    pub key: SessionKey,
    /// Raised by every start, finalize, edit, delete and restore; their condition (rule 4).
    pub rev: u64,
    /// What lists call it: the head of its first instruction, until somebody names it.
    pub name: String,
    /// What it is about, in a user's words.
    pub description: Option<String>,
    /// Who of its org may see it.
    pub visibility: Visibility,
    /// When it was last edited, deleted or restored.
    pub edited: Option<Timestamp>,
    /// That it was deleted: then it takes no turns (rule 12).
    pub deleted: Option<Deletion>,
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
    /// The newest turn; none of a fork that has none of its own yet.
    pub last_turn: Option<LastTurn>,
    /// What the next turn goes on from, where that is not the newest turn: while a rerun is open and after it failed,
    /// what came before the rerun; of a fork without turns, the turn that it was forked from.
    pub tip: Option<After>,
    /// The turn of another session that this one was forked from.
    pub forked_from: Option<ForkedFrom>,
    /// Where its line was cut, since a session that it leads into was purged.
    pub cut: Option<Cut>,
    /// The response to continue from: the last *completed* turn's.
    pub chain: Option<ChainHead>,
    /// A provider that turned out to keep no chains.
    pub keeps_no_chain: Option<String>,
    /// The mode, a catalog key (AGN-011 §3.2).
    pub mode: String,
    /// Tokens of all finalized turns.
    pub usage: Usage,
    /// What all finalized turns cost, one entry per currency; none for turns without prices.
    pub costs: Vec<Cost>,
    /// Fixed by the first turn.
    pub contexts: Contexts,
    /// Latched hints.
    pub hints: Hints,
    /// The latched solution context (AGN-034 §4.5).
    pub solution: Option<SolutionContext>,
}

impl Session {
    /// What its next turn goes on from, unless that is a rerun.
    #[must_use]
    pub fn next_after(&self) -> After {
        self.tip.clone().unwrap_or_else(|| After::turn(self.turn_count))
    }

    /// The first place of its line whose turn knew nothing of what was purged; 0 where all of it is there.
    #[must_use]
    pub fn cut_place(&self) -> u64 {
        self.cut.as_ref().map_or(0, |cut| self.offset().saturating_add(cut.sequence))
    }

    /// The same session without what a purged session has left in it: what its provider remembers, and a solution
    /// context that lies there or behind it. `reached` are the sessions that its line still leads into.
    #[must_use]
    pub fn cut_at(&self, purged: &SessionId, reached: &[SessionId]) -> Self {
        let is_there = |solution: &SolutionContext| {
            solution
                .session
                .as_ref()
                .is_none_or(|session| *session == self.key.session || reached.contains(session))
        };
        Self {
            cut: Some(Cut { session: purged.clone(), sequence: self.turn_count.saturating_add(1) }),
            chain: None,
            solution: self.solution.clone().filter(is_there),
            ..self.clone()
        }
    }

    /// How many places its line has before its first turn.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.forked_from.as_ref().map_or(0, |origin| origin.place)
    }
}

/// A session was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Deletion {
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub by: UserId,
    /// How long it is kept after that.
    pub kept_until: Timestamp,
    /// Whether it is being purged, or was: then nothing of it is left but this, and nothing brings it back.
    pub purged: bool,
}

/// What a user is to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// Started it.
    Owner,
    /// Took a turn in it.
    Participant,
    /// Neither.
    None,
}

/// Where the text of a session's solution context is: in the request of the turn that brought it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct SolutionContext {
    /// Its session, which is another one's in a fork; none of one from before forks: the session that has it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<SessionId>,
    /// The turn that brought it.
    pub turn: TurnId,
    /// That turn's request, as a hash.
    pub request: Fingerprint,
    /// The submission that stored it (rule 2).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub request_by: Option<AttemptId>,
    /// The hash of the text: what a chain was last told is compared by it.
    pub text: Fingerprint,
}

impl SolutionContext {
    /// Where the request is stored that holds the text.
    #[must_use]
    pub fn stored_request(&self) -> StoredRequest {
        StoredRequest { fingerprint: self.request, by: self.request_by.clone() }
    }
}

/// What a request does to the solution context (AGN-034 §4.5).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SolutionChange {
    /// The request says nothing of it.
    #[default]
    Stays,
    /// The request gives an empty one.
    Removed,
    /// The request gives another one.
    Replaced(SolutionContext),
}

impl SolutionChange {
    /// What is latched afterwards. The same text again leaves the reference as it was.
    #[must_use]
    pub fn applied_to(&self, before: Option<&SolutionContext>) -> Option<SolutionContext> {
        match self {
            Self::Stays => before.cloned(),
            Self::Removed => None,
            Self::Replaced(now) => {
                Some(before.filter(|before| before.text == now.text).unwrap_or(now).clone())
            }
        }
    }
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
    /// The provider that has it; none when it was not recorded.
    pub provider: Option<String>,
    /// The mode whose instructions it was last told.
    pub told_mode: Option<String>,
    /// The solution context that it was last told, by its text's hash.
    pub told_solution: Option<Fingerprint>,
    /// The last instant at which it may be relied on (DD-002B, `OpenAIChainExpiresDate`).
    pub expires: Timestamp,
}

/// The contexts of a session: fixed by its first turn, another id later is a conflict. One that is not there is
/// the one that comes with the service, which can also be named by its id.
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

impl Session {
    /// Whether a caller who has this part in it may see it. To everybody else there is no such session.
    #[must_use]
    pub fn is_seen_by(&self, caller: &Caller, part: Part) -> bool {
        if self.is_purged() {
            return false;
        }
        let open_to_all = self.visibility == Visibility::Org && self.deleted.is_none();
        open_to_all || caller.operator || part != Part::None
    }

    /// Whether it is being purged, or was.
    #[must_use]
    pub fn is_purged(&self) -> bool {
        self.deleted.as_ref().is_some_and(|deletion| deletion.purged)
    }

    /// What is left of it once it is purged: whose it was and that it was deleted, no contents.
    #[must_use]
    pub fn emptied(&self) -> Self {
        Self {
            key: self.key.clone(),
            rev: self.rev,
            name: String::new(),
            description: None,
            visibility: Visibility::Participants,
            edited: self.edited,
            deleted: self.deleted.clone(),
            owner: User { id: self.owner.id.clone(), name: String::new() },
            created: self.created,
            last_activity: self.last_activity,
            turn_count: self.turn_count,
            open_turn: None,
            last_turn: None,
            tip: None,
            forked_from: None,
            cut: None,
            chain: None,
            keeps_no_chain: None,
            mode: String::new(),
            usage: Usage::default(),
            costs: Vec::new(),
            contexts: Contexts::default(),
            hints: Hints::default(),
            solution: None,
        }
    }

    /// Whether it is the caller's to say who may see it, and to delete it.
    #[must_use]
    pub fn is_governed_by(&self, caller: &Caller) -> bool {
        caller.operator || self.owner.id == caller.user.id
    }

    /// When it last changed.
    #[must_use]
    pub fn last_updated(&self) -> Timestamp {
        let turned = self.last_turn.as_ref().map_or(self.created, |last| last.at);
        turned.max(self.last_activity).max(self.edited.unwrap_or(self.created))
    }
}

impl Contexts {
    /// Whether a later turn that names these contexts belongs to a session that has `fixed`.
    #[must_use]
    pub fn agree_with(&self, fixed: &Self) -> bool {
        let agrees = |asked: Option<&str>, fixed: Option<&str>| {
            asked.is_none_or(|asked| asked == fixed.unwrap_or(id::BUILT_IN_CONTEXT))
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

/// The sum of costs, per currency: amounts of two currencies don't add up. A session of more than a few
/// currencies is told of in the first ones alone.
#[must_use]
pub fn costs_with(mut costs: Vec<Cost>, cost: Option<&Cost>) -> Vec<Cost> {
    let Some(cost) = cost else { return costs };
    if let Some(known) = costs.iter_mut().find(|known| known.currency == cost.currency) {
        known.amount = known.amount.plus(cost.amount);
    } else if costs.len() < MOST_CURRENCIES {
        costs.push(cost.clone());
    }
    costs
}
