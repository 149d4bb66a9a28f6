//! The ports: everything that the flows need from the outside world. `storage` and `testkit` implement them, and one
//! conformance suite tests every implementation.
//!
//! Reads are separate from writes: code that has only [`Reads`] and [`PayloadReads`] can't change anything. No method
//! has a default, so an incomplete implementation doesn't compile.

mod adapters;
mod archive;
mod documents;
mod errors;
mod index;
mod meter;
mod payloads;
mod purge;
mod store;

pub use adapters::{Adapters, AgentAdapters, AgentDeps, Clock, Deps, FinalizeQueue, QueueDeps, Random};
pub use agent::tool::timer::Timer;
pub use archive::{
    ARCHIVE_BATCH_SIZE, Archive, ArchiveItem, ArchiveStore, ArchivedObject, ArchivedSession, InvalidItem,
    Object, PayloadArchive, RawItem,
};
pub use documents::{
    Authorship, ContextChange, ContextHead, ContextReads, ContextStore, OrgSettingsReads, OrgSettingsStore,
    StoredOrgSettings, StoredVersion,
};
pub use errors::{ListError, MissingObject, Source, Unavailable, WriteError};
pub use index::{
    Backfill, Candidate, Candidates, IndexQuery, Indexed, SessionIndex, SessionIndexRemover,
    SessionIndexWriter,
};
pub use meter::{Meter, MeterReads, StoredBudgets};
pub use payloads::{Link, PayloadReads, Payloads};
pub use purge::{
    NoProviderUsage, PURGE_ITEM_PAGE_SIZE, PURGE_VERSION_PAGE_SIZE, ProviderResponseRemover,
    ProviderUsageReader, PurgePayloads, PurgeStore,
};
pub use store::{
    AgentEntry, CHECKPOINT_PAGE_SIZE, DUE_SHARDS, FoundRecord, LiveContext, Order, OrgModes, Page, Reads,
    Record, Store, TimeRange, UsageReads,
};
