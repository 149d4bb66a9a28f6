//! Object storage.

use std::future::Future;

use agent::outcome::answer::File;
use bytes::Bytes;
use contracts::Timestamp;
use protocol::{
    id::{SessionKey, TurnKey},
    payload::Payload,
    purge::PurgeEntry,
};

use super::{errors::Unavailable, records::Page};

/// The most versions that [`Payloads::versions`] returns, unless a single object has more.
pub const PURGE_VERSION_PAGE_SIZE: usize = 100;

/// Reads objects.
pub trait PayloadReads: Send + Sync {
    /// Reads an object.
    fn get(&self, payload: &Payload) -> impl Future<Output = Result<Option<Bytes>, Unavailable>> + Send;
    /// Returns a short-lived link to an object, or `None` if the object doesn't exist. The linked response has the
    /// object's media type, and browsers don't render it as a page.
    fn link(&self, payload: &Payload) -> impl Future<Output = Result<Option<Link>, Unavailable>> + Send;
    /// Returns an object with its media type, and its bytes unless there are more than `limit`. `None` if it doesn't
    /// exist.
    fn read(
        &self,
        payload: &Payload,
        limit: u64,
    ) -> impl Future<Output = Result<Option<Object>, Unavailable>> + Send;
    /// Returns a turn's objects after this place, in key order.
    fn objects(
        &self,
        turn: &TurnKey,
        after: Option<String>,
    ) -> impl Future<Output = Result<Page<ArchivedObject>, Unavailable>> + Send;
    /// Returns the object at a place among a turn's objects. `None` if the place is invalid.
    fn at(&self, turn: &TurnKey, place: &str) -> Option<Payload>;
}

/// Writes objects.
pub trait Payloads: PayloadReads {
    /// Stores an object once. Succeeds if the key exists: keys contain their writer or a content hash, so it is the
    /// same object.
    fn put(&self, payload: &Payload, body: Bytes) -> impl Future<Output = Result<(), Unavailable>> + Send;
    /// Stores a file once, with its own media type.
    fn put_file(&self, file: &File) -> impl Future<Output = Result<(), Unavailable>> + Send;
    /// Removes an unreferenced object. Succeeds if it doesn't exist.
    fn remove(&self, payload: &Payload) -> impl Future<Output = Result<(), Unavailable>> + Send;
    /// Returns the first objects of a session in key order, with every version of each, including delete markers.
    fn versions(
        &self,
        session: &SessionKey,
    ) -> impl Future<Output = Result<Vec<PurgeEntry>, Unavailable>> + Send;
    /// Removes these versions permanently. Succeeds if they don't exist.
    fn remove_versions(
        &self,
        versions: &[PurgeEntry],
    ) -> impl Future<Output = Result<(), Unavailable>> + Send;
}

/// A temporary link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The URL.
    pub url: String,
    /// The time at which it expires.
    pub expires: Timestamp,
}

/// An object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its media type.
    pub media_type: String,
    /// Its size in bytes.
    pub size: u64,
    /// The bytes. `None` if there are more than the limit.
    pub bytes: Option<Bytes>,
}

/// An object in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedObject {
    /// The object.
    pub payload: Payload,
    /// Its place among the turn's objects: the rest of its key.
    pub place: String,
    /// Its size in bytes.
    pub size: u64,
}
