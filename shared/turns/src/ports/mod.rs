//! What the flows need from the world. Storage and `testkit` implement these; one conformance suite
//! holds every implementation to the same meaning.
//!
//! What reads is apart from what writes: whoever holds [`Reads`] and [`PayloadReads`] alone can't change
//! anything. No method has a default: an implementation that leaves one out does not compile.

mod adapters;
mod archive;
mod index;
mod payloads;
mod removal;
mod store;

use std::{future::Future, time::Duration};

use contracts::Timestamp;
use protocol::{announcement::FinalizeMessage, id::AttemptId, version::Newer};

pub use adapters::{Adapters, AgentAdapters, AgentDeps, Deps};
pub use agent::timer::Timer;
pub use archive::{Archive, InvalidItem, Object, Part, PayloadArchive, Placed, StoredItem};
pub use index::{
    Candidate, Candidates, Filled, ForgetSessions, IndexSessions, Indexed, SessionIndex, Sought,
};
pub use payloads::{Link, PayloadReads, Payloads};
pub use removal::{PURGED_ITEMS, PURGED_VERSIONS, PurgePayloads, PurgeStore, UpstreamResponses};
pub use store::{Between, CHECKPOINTS_PAGE, DUE_SHARDS, Order, Page, Reads, Record, Store};

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

impl Unavailable {
    /// Something stored that can't be read. Of one that a newer deployment wrote the log says so in words of its
    /// own, here, since whoever meets it may go on without it: an alarm hears them.
    pub fn unreadable(what: &'static str, source: impl Into<Source>) -> Self {
        let unreadable = Self { what, source: source.into() };
        if let Some(Newer { found, known }) = unreadable.newer() {
            tracing::error!(what, found, known, "stored data is newer than this code");
        }
        unreadable
    }

    /// Whether it is there and was written by a newer deployment: asking again changes nothing.
    #[must_use]
    pub fn newer(&self) -> Option<Newer> {
        let first: &(dyn std::error::Error + 'static) = self.source.as_ref();
        let mut causes = std::iter::successors(Some(first), |cause| cause.source());
        causes.find_map(|cause| cause.downcast_ref().copied())
    }
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

/// The finalize queue. Losing a message costs latency, nothing else.
pub trait FinalizeQueue: Send + Sync {
    /// Sends a message, to be delivered a second later.
    fn send(&self, message: &FinalizeMessage) -> impl Future<Output = Result<(), Unavailable>> + Send;
}

/// The clocks of the machine, so that a simulation can own time.
pub trait Clock: Timer {
    /// The wall clock, which may jump.
    fn now(&self) -> Timestamp;
}

/// Chance, so that a simulation can own it.
pub trait Random: Send + Sync {
    /// A fresh attempt id.
    fn attempt_id(&self) -> AttemptId;
    /// A random duration below `most`.
    fn jitter(&self, most: Duration) -> Duration;
}
