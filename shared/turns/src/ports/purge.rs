//! Additional ports for purges, which alone can remove data, and for what providers store.

use std::future::Future;

use contracts::{Timestamp, Usage};
use protocol::{
    id::SessionKey,
    purge::{ProviderResponseRef, Purge, PurgeEntry},
};

use super::{
    errors::{Unavailable, WriteError},
    payloads::Payloads,
    store::{Page, Store},
};

/// The most items that [`PurgeStore::items`] returns.
pub const PURGE_ITEM_PAGE_SIZE: usize = 25;

/// The most versions that [`PurgePayloads::versions`] returns, unless a single object has more.
pub const PURGE_VERSION_PAGE_SIZE: usize = 100;

/// Purges the table.
pub trait PurgeStore: Store {
    /// Writes a record if the stored one has the same revision, and increments the revision.
    fn write_purge(&self, purge: &Purge) -> impl Future<Output = Result<(), WriteError>> + Send;
    /// Returns the first items of a session in key order, without the session itself and its purge record. Reads
    /// consistently.
    fn items(
        &self,
        session: &SessionKey,
    ) -> impl Future<Output = Result<Vec<PurgeEntry>, Unavailable>> + Send;
    /// Removes these items. Succeeds if they don't exist.
    fn remove_items(
        &self,
        session: &SessionKey,
        items: &[PurgeEntry],
    ) -> impl Future<Output = Result<(), Unavailable>> + Send;
    /// Returns sessions whose purge was due before `now`, from one shard of the sparse index. They are candidates:
    /// the index may be stale.
    fn due_purges(
        &self,
        shard: u8,
        now: Timestamp,
        after: Option<String>,
    ) -> impl Future<Output = Result<Page<SessionKey>, Unavailable>> + Send;
}

/// Purges objects.
pub trait PurgePayloads: Payloads {
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

/// Removes responses that model providers store.
pub trait ProviderResponseRemover: Send + Sync {
    /// Removes a response at its provider. Succeeds if it doesn't exist.
    fn remove(&self, response: &ProviderResponseRef) -> impl Future<Output = Result<(), Unavailable>> + Send;
}

/// Reads the usage of responses that model providers store.
pub trait ProviderUsageReader: Send + Sync {
    /// Returns the usage of a response that has ended, once it is known. Ends within seconds.
    fn usage(
        &self,
        response: &ProviderResponseRef,
    ) -> impl Future<Output = Result<Option<Usage>, Unavailable>> + Send;
}

/// The reader of a process that asks no provider.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProviderUsage;

impl ProviderUsageReader for NoProviderUsage {
    async fn usage(&self, _response: &ProviderResponseRef) -> Result<Option<Usage>, Unavailable> {
        Ok(None)
    }
}
