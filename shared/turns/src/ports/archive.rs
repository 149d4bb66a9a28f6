//! Whole sessions: reads them in the cheapest order, and parses those to restore.

use std::future::Future;

use agent::outcome::answer::File;
use contracts::{Fingerprint, id::TurnId, read::StoredItem};
use protocol::{
    detail::{Feedback, ModeChange, Participant, RequestDetail, ResultDetail},
    effect::Intent,
    id::{SessionKey, TurnKey},
    session::Session,
    transition::import::Document,
    turn::Turn,
};
use serde_json::{Map, Value};

use super::{
    errors::Unavailable,
    records::{Page, Record},
};

/// The most items that [`Store::put_archive_items`](super::Store::put_archive_items) writes in one transaction.
pub const ARCHIVE_BATCH_SIZE: usize = 25;

/// A stored item of a session with its key, without the attributes that derive from it.
pub type RawItem = Map<String, Value>;

/// Reads whole sessions in the table.
pub trait Archive: Send + Sync {
    /// Returns at most `limit` turns of a session after this one, in key order. Reads may be slightly stale. The
    /// page's `next` is its last turn.
    fn walk(
        &self,
        session: &SessionKey,
        after: Option<&TurnId>,
        limit: usize,
    ) -> impl Future<Output = Result<Page<Record>, Unavailable>> + Send;
    /// Returns a session's items in key order: everything that an import needs to restore it.
    fn stored_items(
        &self,
        session: &SessionKey,
        after: Option<String>,
    ) -> impl Future<Output = Result<Page<RawItem>, Unavailable>> + Send;
    /// Returns the keys and sizes of a turn's items, feedback and checkpoints included. `next` is set if there are more
    /// than one page of any kind. Reads consistently.
    fn turn_items(
        &self,
        turn: &TurnKey,
    ) -> impl Future<Output = Result<Page<StoredItem>, Unavailable>> + Send;
    /// Parses an item of a session with this key.
    ///
    /// # Errors
    /// Fails if the item isn't one that this version writes.
    fn parse_item(&self, session: &SessionKey, item: RawItem) -> Result<ArchiveItem, InvalidItem>;
}

/// A session to restore: validated, and under the ids that it gets.
#[derive(Debug, Clone)]
pub struct ArchivedSession {
    /// The session.
    pub session: Session,
    /// The hash of everything that an import of it writes.
    pub fingerprint: Fingerprint,
    /// All other items. Heads come last, so that whatever they refer to exists (I10).
    pub items: Vec<ArchiveItem>,
    /// Its objects.
    pub files: Vec<File>,
}

impl ArchivedSession {
    /// Returns the document, as the transitions need it.
    #[must_use]
    pub fn document(&self) -> Document<'_> {
        Document { session: &self.session, fingerprint: self.fingerprint }
    }
}

/// A parsed item of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArchiveItem {
    /// The session itself.
    Session(Box<Session>),
    /// The head of a turn.
    Turn(Box<Turn>),
    /// The details of a turn's request.
    Request(Box<RequestDetail>),
    /// A turn's result.
    Result(Box<ResultDetail>),
    /// A participant.
    Participant(Participant),
    /// One user's feedback on a turn.
    Feedback(Feedback),
    /// A mode change.
    ModeChange(ModeChange),
    /// The calls with effects of a round.
    Intent(Intent),
}

/// The reason that an item can't be imported.
#[derive(Debug, thiserror::Error)]
pub enum InvalidItem {
    /// Exports contain no item with such a key.
    #[error("has a Key that no item of a session has")]
    Key,
    /// A newer version wrote it.
    #[error("was written by a newer version of the service: import it there")]
    Newer,
    /// It is malformed.
    #[error("is not as the service writes it: {0}")]
    Malformed(String),
    /// It is larger than a stored item may be.
    #[error("has {size} bytes, and an item may have at most {most}")]
    TooLarge {
        /// Its size.
        size: usize,
        /// The limit.
        most: usize,
    },
    /// It has an unknown member.
    #[error("has a member that is not known: {0}")]
    Unknown(String),
}
