//! What the flows need from the world. Storage and `testkit` implement these; one conformance suite
//! holds every implementation to the same meaning.

use std::{future::Future, time::Duration};

pub use agent::timer::Timer;

use bytes::Bytes;
use contracts::{
    Timestamp,
    id::{AgentContextId, ConversationContextId, OrgId, UserId},
};
use protocol::{announcement::FinalizeMessage, caller::User};

use crate::stream::Checkpoint;
use agent::context::{AgentContext, ConversationContext};
use protocol::{
    change::{Commit, TurnChange},
    detail::{Asked, Ended, ModeChange, Participant},
    id::{Owner, SessionKey, TurnKey},
    payload::Payload,
    place::Place,
    session::Session,
    turn::Turn,
};

/// An error of an adapter, kept whole as a source for the log at the boundary.
pub type Source = Box<dyn std::error::Error + Send + Sync>;

/// Something could not be read or written, and nothing more is known.
#[derive(Debug, thiserror::Error)]
#[error("{what} is unavailable")]
pub struct Unavailable {
    /// Which store.
    pub what: &'static str,
    /// What it said.
    #[source]
    pub source: Source,
}

/// Why a conditional write did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The condition did not hold. It may have been our own earlier try that changed it (I11).
    #[error("the condition of the write did not hold")]
    Lost,
    /// Throttled, or another transaction was in the way: nothing was written, try again.
    #[error("the write met contention")]
    Contended,
    /// Nobody knows whether it was applied.
    #[error("it is unknown whether the write was applied")]
    Unknown(#[source] Source),
}

/// The table: sessions, turns and their details.
pub trait Store: Send + Sync {
    /// The session, read consistently.
    fn session(&self, key: &SessionKey) -> impl Future<Output = Result<Option<Session>, Unavailable>> + Send;
    /// The turn's head, read consistently.
    fn turn(&self, key: &TurnKey) -> impl Future<Output = Result<Option<Turn>, Unavailable>> + Send;
    /// What was asked with a turn, read consistently: written once, with the turn's start.
    fn asked(&self, key: &TurnKey) -> impl Future<Output = Result<Option<Asked>, Unavailable>> + Send;
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
    /// One conditional write on one head.
    fn write_turn(&self, change: &TurnChange) -> impl Future<Output = Result<(), WriteError>> + Send;
    /// One transaction: all of it or nothing.
    fn commit(&self, commit: &Commit) -> impl Future<Output = Result<(), WriteError>> + Send;
    /// Writes what came of a settled turn, before the head that makes it count. Any writer writes the
    /// same, since a settlement is irrevocable.
    fn put_ended(&self, ended: &Ended) -> impl Future<Output = Result<(), Unavailable>> + Send;
    /// Moves a participant's last activity forward, never back.
    fn touch(&self, participant: &Participant) -> impl Future<Output = Result<(), Unavailable>> + Send;
    /// An agent context of an org; none in a store that keeps no contexts.
    fn agent_context(
        &self,
        org: &OrgId,
        id: &AgentContextId,
    ) -> impl Future<Output = Result<Option<AgentContext>, Unavailable>> + Send {
        let _ = (org, id);
        async { Ok(None) }
    }
    /// A conversation context of an org; none in a store that keeps no contexts.
    fn conversation_context(
        &self,
        org: &OrgId,
        id: &ConversationContextId,
    ) -> impl Future<Output = Result<Option<ConversationContext>, Unavailable>> + Send {
        let _ = (org, id);
        async { Ok(None) }
    }
    /// Makes more of a running turn's stream durable, for other connections.
    fn put_checkpoint(&self, checkpoint: &Checkpoint)
    -> impl Future<Output = Result<(), Unavailable>> + Send;
    /// A turn's checkpoints that end after a place, in order, at most [`CHECKPOINTS_PAGE`] at once.
    fn checkpoints(
        &self,
        turn: &TurnKey,
        after: Option<Place>,
    ) -> impl Future<Output = Result<Vec<Checkpoint>, Unavailable>> + Send;
    /// Turns that were due before `now`, from one shard of the sparse index. Candidates, not proof.
    fn due(
        &self,
        shard: u8,
        now: Timestamp,
        after: Option<String>,
    ) -> impl Future<Output = Result<Page<TurnKey>, Unavailable>> + Send;
}

/// How many checkpoints [`Store::checkpoints`] returns at once.
pub const CHECKPOINTS_PAGE: usize = 16;

/// How many shards [`Store::due`] has.
pub const DUE_SHARDS: u8 = 16;

/// The table as readers see it.
pub trait Shelf: Store {
    /// Turns of a session in order, from `after` (a sequence number) on, with their details.
    fn turns(
        &self,
        session: &SessionKey,
        after: u64,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Record>, Unavailable>> + Send;
    /// One turn with its details.
    fn record(&self, key: &TurnKey) -> impl Future<Output = Result<Option<Record>, Unavailable>> + Send;
    /// The session's mode history, oldest first, bounded.
    fn mode_history(
        &self,
        session: &SessionKey,
    ) -> impl Future<Output = Result<Vec<ModeChange>, Unavailable>> + Send;
    /// Sessions of an org, or those a user takes part in, newest activity first.
    fn sessions(
        &self,
        org: &OrgId,
        user: Option<&UserId>,
        most: usize,
        after: Option<String>,
    ) -> impl Future<Output = Result<Page<Session>, ListError>> + Send;
}

/// Why a list could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The continuation token is not one that a page of this list ended with.
    #[error("the continuation token is not valid")]
    BadToken,
    /// The table can't be reached.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
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
    /// What was asked.
    pub asked: Asked,
    /// What came of it, once it is finalized.
    pub ended: Option<Ended>,
}

impl Record {
    /// Who asked.
    #[must_use]
    pub fn by(&self) -> &User {
        &self.asked.by
    }
}

/// The objects.
pub trait Payloads: Send + Sync {
    /// Stores an object once. An object that is already there under this key is this very object,
    /// since keys carry their writer or their content: that is success.
    fn put(&self, payload: &Payload, body: Bytes) -> impl Future<Output = Result<(), Unavailable>> + Send;
    /// Reads an object.
    fn get(&self, payload: &Payload) -> impl Future<Output = Result<Option<Bytes>, Unavailable>> + Send;
    /// A short-lived link to an object.
    fn link(&self, payload: &Payload) -> impl Future<Output = Result<Link, Unavailable>> + Send;
}

/// A link that works for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Where.
    pub url: String,
    /// Until when.
    pub expires: Timestamp,
}

/// The finalize queue. Losing a message costs latency, nothing else.
pub trait Announcements: Send + Sync {
    /// Sends a message, to be delivered a second later.
    fn announce(&self, message: &FinalizeMessage) -> impl Future<Output = Result<(), Unavailable>> + Send;
}

/// Time and chance, so that a simulation can own both.
pub trait World: Timer {
    /// The wall clock.
    fn now(&self) -> Timestamp;
    /// A fresh random nonce.
    fn nonce(&self) -> Owner;
    /// A random duration below `most`.
    fn jitter(&self, most: Duration) -> Duration;
}
