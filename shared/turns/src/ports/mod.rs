//! The ports: everything that the flows need from the outside world. `storage` and `testkit` implement them, and one
//! conformance suite tests every implementation.
//!
//! Reads are separate from writes: code that has only [`Reads`] and [`PayloadReads`] can't change anything. No method
//! has a default, so an incomplete implementation doesn't compile; [`TypedDocuments`] has only defaults.

mod adapters;
mod archive;
mod documents;
mod errors;
mod external;
mod meter;
mod payloads;
mod records;
mod store;
mod usage_keys;
mod webhooks;

pub use adapters::{Adapters, AgentAdapters, AgentDeps, Deps, FinalizeQueue, Host, QueueDeps, TurnQueue};
pub use agent::tool::timer::Timer;
pub use archive::{ARCHIVE_BATCH_SIZE, Archive, ArchiveItem, ArchivedSession, InvalidItem, RawItem};
pub use documents::{
    AgentEntry, Authorship, DocumentChange, DocumentHead, DocumentId, Documents, LiveContext, OrgModes,
    StoredVersion, TypedDocuments,
};
pub(crate) use documents::{single, unreadable};
pub use errors::{ListError, MissingObject, Source, Unavailable, WriteError};
pub use external::{
    Backfill, Candidate, Candidates, IndexQuery, Indexed, NoProviders, ProviderResponses, SessionIndex,
};
pub use meter::{Meter, MeterReads};
pub use payloads::{ArchivedObject, Link, Object, PURGE_VERSION_PAGE_SIZE, PayloadReads, Payloads};
pub use records::{FoundRecord, FoundTurn, Order, Page, Record, TimeRange};
pub use store::{Audience, CHECKPOINT_PAGE_SIZE, DUE_SHARDS, PURGE_ITEM_PAGE_SIZE, Reads, Store};
pub use usage_keys::{InvalidUsageKey, UsageKey, UsageKeyHolder};
pub use webhooks::{
    LaneStep, Outbox, PENDING_PAGE_SIZE, Receivers, SigningSecrets, WebhookMessage, WebhookQueue,
    WebhookReply, WebhookSecrets,
};
