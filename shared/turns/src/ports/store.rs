//! The table: sessions, turns and their details.

use std::future::Future;

use agent::context::{AgentContext, ConversationContext};
use contracts::{
    Timestamp,
    id::{AgentContextId, ConversationContextId, OrgId, UserId},
};
use protocol::{
    change::{Commit, TurnChange},
    detail::{Feedback, ModeChange, ModePlace, Participant, RequestDetail, ResultDetail},
    id::{SessionKey, TurnKey},
    place::Place,
    purge::Purge,
    session::Session,
    turn::Turn,
};

use super::{ListError, Unavailable, WriteError};
use crate::checkpoint::Checkpoint;

/// How many checkpoints [`Reads::checkpoints`] returns at once.
pub const CHECKPOINTS_PAGE: usize = 16;

/// How many shards [`Store::due`] has.
pub const DUE_SHARDS: u8 = 16;

/// The table, for whoever may read it.
pub trait Reads: Send + Sync {
    /// The session, read consistently.
    fn session(&self, key: &SessionKey) -> impl Future<Output = Result<Option<Session>, Unavailable>> + Send;
    /// The turn's head, read consistently.
    fn turn(&self, key: &TurnKey) -> impl Future<Output = Result<Option<Turn>, Unavailable>> + Send;
    /// The heads of these turns that are there, read consistently, in any order.
    fn turns(&self, keys: &[TurnKey]) -> impl Future<Output = Result<Vec<Turn>, Unavailable>> + Send;
    /// A session and one of its turns, both read consistently, in one call: neither need be as it was when the other
    /// was read.
    fn session_and_turn(
        &self,
        key: &TurnKey,
    ) -> impl Future<Output = Result<(Option<Session>, Option<Turn>), Unavailable>> + Send;
    /// What is kept of a turn's request, read consistently: written once, with the turn's start.
    fn request_detail(
        &self,
        key: &TurnKey,
    ) -> impl Future<Output = Result<Option<RequestDetail>, Unavailable>> + Send;
    /// The heads of a session's turns before this sequence number, newest first, read consistently.
    fn earlier(
        &self,
        session: &SessionKey,
        before: u64,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Turn>, Unavailable>> + Send;
    /// Whether the user took part in the session.
    fn takes_part(
        &self,
        session: &SessionKey,
        user: &UserId,
    ) -> impl Future<Output = Result<bool, Unavailable>> + Send;
    /// The record of a session's purge, read consistently.
    fn purge(&self, key: &SessionKey) -> impl Future<Output = Result<Option<Purge>, Unavailable>> + Send;
    /// An agent context of an org.
    fn agent_context(
        &self,
        org: &OrgId,
        id: &AgentContextId,
    ) -> impl Future<Output = Result<Option<AgentContext>, Unavailable>> + Send;
    /// A conversation context of an org.
    fn conversation_context(
        &self,
        org: &OrgId,
        id: &ConversationContextId,
    ) -> impl Future<Output = Result<Option<ConversationContext>, Unavailable>> + Send;
    /// A turn's checkpoints that end after a place, in order, at most [`CHECKPOINTS_PAGE`] at once.
    fn checkpoints(
        &self,
        turn: &TurnKey,
        after: Option<Place>,
    ) -> impl Future<Output = Result<Vec<Checkpoint>, Unavailable>> + Send;
    /// Where the last of a turn's checkpoints ends, read consistently.
    fn last_checkpoint(
        &self,
        turn: &TurnKey,
    ) -> impl Future<Output = Result<Option<Place>, Unavailable>> + Send;
    /// The checkpoints of a place's segment up to that place, in order, read consistently.
    fn segment(
        &self,
        turn: &TurnKey,
        ends: Place,
    ) -> impl Future<Output = Result<Vec<Checkpoint>, Unavailable>> + Send;
    /// One turn with its details.
    fn record(&self, key: &TurnKey) -> impl Future<Output = Result<Option<Record>, Unavailable>> + Send;
    /// Turns of a session in an order, from the one behind `after` (a sequence number) on, with their details.
    fn records(
        &self,
        session: &SessionKey,
        after: Option<u64>,
        order: Order,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Record>, Unavailable>> + Send;
    /// The session's mode changes before a place, newest first, at most so many.
    fn mode_history(
        &self,
        session: &SessionKey,
        before: Option<ModePlace>,
        most: usize,
    ) -> impl Future<Output = Result<Vec<ModeChange>, Unavailable>> + Send;
    /// What users say of a turn, from behind a user on, at most so many, in any order that stays.
    fn feedback(
        &self,
        turn: &TurnKey,
        after: Option<&UserId>,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Feedback>, Unavailable>> + Send;
    /// Users who took part in a session, by their ids, at most so many.
    fn participants(
        &self,
        session: &SessionKey,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Participant>, Unavailable>> + Send;
    /// Sessions of an org, or those a user takes part in, newest activity first, of those between two instants.
    fn sessions(
        &self,
        org: &OrgId,
        user: Option<&UserId>,
        active: &Between,
        most: usize,
        after: Option<String>,
    ) -> impl Future<Output = Result<Page<Session>, ListError>> + Send;
}

/// The table, for whoever may write it.
pub trait Store: Reads {
    /// One conditional write on one head.
    fn write_turn(&self, change: &TurnChange) -> impl Future<Output = Result<(), WriteError>> + Send;
    /// One transaction: all of it or nothing.
    fn commit(&self, commit: &Commit) -> impl Future<Output = Result<(), WriteError>> + Send;
    /// Writes what came of a settled turn, before the head that makes it count. Any writer writes the
    /// same, since a settlement is irrevocable.
    fn put_result_detail(
        &self,
        result: &ResultDetail,
    ) -> impl Future<Output = Result<(), Unavailable>> + Send;
    /// Moves a participant's last activity forward, never back.
    fn touch(&self, participant: &Participant) -> impl Future<Output = Result<(), Unavailable>> + Send;
    /// Keeps what a user says of a turn in the place of what that user said before, and returns it as it is kept: the
    /// first time stays. None where the turn's session was purged.
    fn put_feedback(
        &self,
        feedback: &Feedback,
    ) -> impl Future<Output = Result<Option<Feedback>, WriteError>> + Send;
    /// Makes more of a running turn's stream durable, for other connections.
    fn put_checkpoint(&self, checkpoint: &Checkpoint)
    -> impl Future<Output = Result<(), Unavailable>> + Send;
    /// Turns that were due before `now`, from one shard of the sparse index. Candidates, not proof. For
    /// whoever ends them.
    fn due(
        &self,
        shard: u8,
        now: Timestamp,
        after: Option<String>,
    ) -> impl Future<Output = Result<Page<TurnKey>, Unavailable>> + Send;
}

/// In which order turns are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// From the first on.
    #[default]
    OldestFirst,
    /// From the last back.
    NewestFirst,
}

/// From one instant to another, both included; one that is not there sets no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Between {
    /// The first.
    pub from: Option<Timestamp>,
    /// The last.
    pub to: Option<Timestamp>,
}

impl Between {
    /// Whether an instant lies there.
    #[must_use]
    pub fn holds(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= at) && self.to.is_none_or(|to| at <= to)
    }
}

/// One page of a longer list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Where the next page begins; none when this was the last.
    pub next: Option<String>,
}

/// A turn with its details.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The head.
    pub turn: Turn,
    /// What is kept of its request.
    pub request: RequestDetail,
    /// What came of it, once it is finalized.
    pub result: Option<ResultDetail>,
}
