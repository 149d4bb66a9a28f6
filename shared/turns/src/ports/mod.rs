//! The ports: everything that the flows need from the outside world. `storage` and `testkit` implement them, and one
//! conformance suite tests every implementation.
//!
//! Reads are separate from writes: code that has only [`Reads`] and [`PayloadReads`] can't change anything. No method
//! has a default, so an incomplete implementation doesn't compile.

mod adapters;
mod archive;
mod contexts;
mod errors;
mod host;
mod index;
mod meter;
mod org_settings;
mod payloads;
mod purge;
mod queue;
mod store;
mod usage;

pub use adapters::{Adapters, AgentAdapters, AgentDeps, Deps, QueueDeps};
pub use agent::tool::timer::Timer;
pub use archive::{
    ARCHIVE_BATCH_SIZE, Archive, ArchiveItem, ArchiveStore, ArchivedObject, ArchivedSession, InvalidItem,
    Object, PayloadArchive, RawItem,
};
pub use contexts::{Authorship, ContextChange, ContextHead, ContextReads, ContextStore, StoredVersion};
pub use errors::{ListError, MissingObject, Source, Unavailable, WriteError};
pub use host::{Clock, Random};
pub use index::{
    Backfill, Candidate, Candidates, IndexQuery, Indexed, SessionIndex, SessionIndexRemover,
    SessionIndexWriter,
};
pub use meter::{Meter, MeterReads, StoredBudgets};
pub use org_settings::{OrgSettingsReads, OrgSettingsStore, StoredOrgSettings};
pub use payloads::{Link, PayloadReads, Payloads};
pub use purge::{
    PURGE_ITEM_PAGE_SIZE, PURGE_VERSION_PAGE_SIZE, ProviderResponseRemover, PurgePayloads, PurgeStore,
};
pub use queue::FinalizeQueue;
pub use store::{
    AgentEntry, CHECKPOINT_PAGE_SIZE, DUE_SHARDS, FoundRecord, LiveContext, Order, OrgModes, Page, Reads,
    Record, Store, TimeRange,
};
pub use usage::UsageReads;
