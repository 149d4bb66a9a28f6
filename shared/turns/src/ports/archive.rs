//! Sessions as a whole: read in the order that is cheapest, whatever that order means, and put back as they were.

use std::future::Future;

use bytes::Bytes;
use contracts::id::TurnId;
use protocol::{
    detail::{Feedback, ModeChange, Participant, RequestDetail, ResultDetail},
    id::{SessionKey, TurnKey},
    payload::Payload,
    session::Session,
    turn::Turn,
};
use serde_json::{Map, Value};

use super::{Page, Record, Unavailable};

/// An item of a session as it is kept, with its key, and without what follows from that.
pub type StoredItem = Map<String, Value>;

/// The table, for whoever reads sessions as a whole.
pub trait Archive: Send + Sync {
    /// A session's turns from behind one on, in the order of their keys, at most so many; as they were a moment ago.
    /// The next page begins behind the turn that it names.
    fn walk(
        &self,
        session: &SessionKey,
        after: Option<&TurnId>,
        most: usize,
    ) -> impl Future<Output = Result<Page<Record>, Unavailable>> + Send;
    /// A session's items, in the order of their keys: all that an import needs to make it anew.
    fn stored(
        &self,
        session: &SessionKey,
        after: Option<String>,
    ) -> impl Future<Output = Result<Page<StoredItem>, Unavailable>> + Send;
    /// What an item says, in a session of this key.
    ///
    /// # Errors
    /// When it is no item that this version writes.
    fn part(&self, session: &SessionKey, item: StoredItem) -> Result<Part, InvalidItem>;
    /// Puts a part in its place, whatever is there.
    fn put_part(&self, part: &Part) -> impl Future<Output = Result<(), Unavailable>> + Send;
}

/// The objects, for whoever reads them whole.
pub trait PayloadArchive: Send + Sync {
    /// An object with its type, where it has at most so many bytes; none where there is no such object.
    fn read(
        &self,
        payload: &Payload,
        most: u64,
    ) -> impl Future<Output = Result<Option<Object>, Unavailable>> + Send;
    /// A turn's objects, from behind a place on.
    fn objects(
        &self,
        turn: &TurnKey,
        after: Option<String>,
    ) -> impl Future<Output = Result<Page<Placed>, Unavailable>> + Send;
    /// The object at a place among a turn's; none where no object of ours is.
    fn at(&self, turn: &TurnKey, place: &str) -> Option<Payload>;
}

/// What an item of a session says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// The session itself.
    Session(Box<Session>),
    /// The head of a turn.
    Turn(Box<Turn>),
    /// What was asked.
    Request(Box<RequestDetail>),
    /// What came of it.
    Result(Box<ResultDetail>),
    /// Who took part.
    Participant(Participant),
    /// What a user says of a turn.
    Feedback(Feedback),
    /// A change of the mode.
    ModeChange(ModeChange),
}

/// Why an item is none of ours.
#[derive(Debug, thiserror::Error)]
pub enum InvalidItem {
    /// Its key is that of no item that an export holds.
    #[error("has a Key that no item of a session has")]
    Key,
    /// A newer version wrote it.
    #[error("was written by a newer version of the service: import it there")]
    Newer,
    /// It can't be read.
    #[error("is not as the service writes it: {0}")]
    Malformed(String),
    /// It holds more than is known.
    #[error("has a member that is not known: {0}")]
    Unknown(String),
}

/// An object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its media type.
    pub media_type: String,
    /// How many bytes it has.
    pub size: u64,
    /// The bytes; none where there are more than was asked for.
    pub bytes: Option<Bytes>,
}

/// An object in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// Which.
    pub payload: Payload,
    /// Its place among the turn's objects.
    pub place: String,
    /// How many bytes it has.
    pub size: u64,
}
