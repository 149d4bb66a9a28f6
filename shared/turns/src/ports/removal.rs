//! What a purge needs beside the other ports: nobody else has a port to remove with.

use std::future::Future;

use contracts::Timestamp;
use protocol::{
    id::SessionKey,
    purge::{LeftUpstream, Piece, Purge},
};

use super::{Page, Payloads, Store, Unavailable, WriteError};

/// How many items [`PurgeStore::items`] tells at most.
pub const PURGED_ITEMS: usize = 25;

/// How many versions [`PurgePayloads::versions`] tells, but for one object that has more.
pub const PURGED_VERSIONS: usize = 100;

/// The table, for whoever purges.
pub trait PurgeStore: Store {
    /// Writes a record where the stored one has its revision, and raises that.
    fn write_purge(&self, purge: &Purge) -> impl Future<Output = Result<(), WriteError>> + Send;
    /// The first items of a session in the order of their keys, but for the session itself and the record of its
    /// purge; read consistently.
    fn items(&self, session: &SessionKey) -> impl Future<Output = Result<Vec<Piece>, Unavailable>> + Send;
    /// Removes these items. One that is not there is removed.
    fn remove_items(
        &self,
        session: &SessionKey,
        items: &[Piece],
    ) -> impl Future<Output = Result<(), Unavailable>> + Send;
    /// Sessions whose purge was due before `now`, from one shard of the sparse index. Candidates, not proof.
    fn due_purges(
        &self,
        shard: u8,
        now: Timestamp,
        after: Option<String>,
    ) -> impl Future<Output = Result<Page<SessionKey>, Unavailable>> + Send;
}

/// The objects, for whoever purges.
pub trait PurgePayloads: Payloads {
    /// The first objects of a session in the order of their keys, every version of each, those that only say that an
    /// object was deleted too.
    fn versions(&self, session: &SessionKey) -> impl Future<Output = Result<Vec<Piece>, Unavailable>> + Send;
    /// Removes these versions for good. One that is not there is removed.
    fn remove_versions(&self, versions: &[Piece]) -> impl Future<Output = Result<(), Unavailable>> + Send;
}

/// What models' providers keep of turns, for whoever purges: it can be removed, and nothing else.
pub trait UpstreamResponses: Send + Sync {
    /// Removes a response at its provider. One that is not there is removed.
    fn remove(&self, response: &LeftUpstream) -> impl Future<Output = Result<(), Unavailable>> + Send;
}
