//! Sessions and turns on one DynamoDB table.

mod archive;
mod checkpoints;
mod context_cache;
mod contexts;
mod export;
mod expression;
mod feedback;
mod item_size;
mod list;
mod purges;
mod read;
mod restore;
mod write;

use aws_sdk_dynamodb::Client;

use crate::Prewarmed;
use context_cache::ContextCache;

/// The table of sessions and turns.
#[derive(Debug, Clone)]
pub struct Table {
    pub(crate) client: Prewarmed<Client>,
    name: String,
    context_cache: ContextCache,
}

impl Table {
    /// Creates an adapter for the table of this name.
    #[must_use]
    pub fn new(client: impl Into<Prewarmed<Client>>, name: String) -> Self {
        Self { client: client.into(), name, context_cache: ContextCache::default() }
    }
}

/// The name of the table in errors.
const RESOURCE: &str = "the table";
