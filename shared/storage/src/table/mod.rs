//! Sessions and turns on one DynamoDB table.

mod approvals;
mod archive;
mod checkpoints;
mod client_orgs;
mod documents;
mod effects;
mod export;
mod expression;
mod feedback;
mod item_size;
mod knowledge;
mod list;
mod meters;
mod model_providers;
mod purges;
mod read;
mod restore;
mod session_list;
mod session_scan;
pub(crate) mod ttl_cache;
mod usage;
mod usage_keys;
mod vector_stores;
mod webhooks;
mod write;

use aws_sdk_dynamodb::Client;

use crate::Prewarmed;
use client_orgs::ClientOrgCache;
use documents::DocumentCaches;
use usage_keys::UsageKeyCache;

/// The table of sessions and turns.
#[derive(Debug, Clone)]
pub struct Table {
    pub(crate) client: Prewarmed<Client>,
    name: String,
    documents: DocumentCaches,
    /// True if the lists of orgs have shards.
    shards_lists: bool,
    client_org_cache: ClientOrgCache,
    usage_key_cache: UsageKeyCache,
}

impl Table {
    /// Creates an adapter for the table of this name.
    #[must_use]
    pub fn new(client: impl Into<Prewarmed<Client>>, name: String) -> Self {
        Self {
            client: client.into(),
            name,
            documents: DocumentCaches::new(),
            client_org_cache: client_orgs::new_cache(),
            usage_key_cache: usage_keys::new_cache(),
            shards_lists: false,
        }
    }

    /// Spreads the session list of each org over shards if `shards` is true. Lists that were written before stay
    /// readable; without shards again, sessions of the shards are missing until their next turn.
    #[must_use]
    pub fn with_sharded_lists(self, shards: bool) -> Self {
        Self { shards_lists: shards, ..self }
    }
}

/// The name of the table in errors.
const RESOURCE: &str = "the table";
