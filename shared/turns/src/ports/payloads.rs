//! Object storage.

use std::future::Future;

use agent::outcome::answer::File;
use bytes::Bytes;
use contracts::Timestamp;
use protocol::payload::Payload;

use super::errors::Unavailable;

/// Reads objects.
pub trait PayloadReads: Send + Sync {
    /// Reads an object.
    fn get(&self, payload: &Payload) -> impl Future<Output = Result<Option<Bytes>, Unavailable>> + Send;
    /// Returns a short-lived link to an object, or `None` if the object doesn't exist. The linked response has the
    /// object's media type, and browsers don't render it as a page.
    fn link(&self, payload: &Payload) -> impl Future<Output = Result<Option<Link>, Unavailable>> + Send;
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
}

/// A temporary link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The URL.
    pub url: String,
    /// The time at which it expires.
    pub expires: Timestamp,
}
