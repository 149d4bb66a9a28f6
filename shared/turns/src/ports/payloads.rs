//! The objects.

use std::future::Future;

use agent::answer::File;
use bytes::Bytes;
use contracts::Timestamp;
use protocol::payload::Payload;

use super::Unavailable;

/// The objects, for whoever may read them.
pub trait PayloadReads: Send + Sync {
    /// Reads an object.
    fn get(&self, payload: &Payload) -> impl Future<Output = Result<Option<Bytes>, Unavailable>> + Send;
    /// A short-lived link to an object; none where there is no such object. What it leads to says its media
    /// type, and is no page to be shown.
    fn link(&self, payload: &Payload) -> impl Future<Output = Result<Option<Link>, Unavailable>> + Send;
}

/// The objects, for whoever may write them.
pub trait Payloads: PayloadReads {
    /// Stores an object once. An object that is already there under this key is this very object,
    /// since keys carry their writer or their content: that is success.
    fn put(&self, payload: &Payload, body: Bytes) -> impl Future<Output = Result<(), Unavailable>> + Send;
    /// Stores a file once, with the media type it has.
    fn put_file(&self, file: &File) -> impl Future<Output = Result<(), Unavailable>> + Send;
    /// Removes an object that nothing refers to. One that is not there is removed.
    fn remove(&self, payload: &Payload) -> impl Future<Output = Result<(), Unavailable>> + Send;
}

/// A link that works for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Where.
    pub url: String,
    /// Until when.
    pub expires: Timestamp,
}
