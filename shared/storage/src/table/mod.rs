//! Sessions and turns on one DynamoDB table.

mod archive;
mod checkpoints;
mod contexts;
mod expression;
mod feedback;
mod list;
mod purges;
mod read;
mod stored;
mod write;

use aws_sdk_dynamodb::Client;

use crate::Ahead;

/// The table.
#[derive(Debug, Clone)]
pub struct Table {
    pub(crate) client: Ahead<Client>,
    name: String,
    recent: contexts::Recent,
}

impl Table {
    /// The table of this name.
    #[must_use]
    pub fn new(client: impl Into<Ahead<Client>>, name: String) -> Self {
        Self { client: client.into(), name, recent: contexts::Recent::default() }
    }
}

/// What this room calls itself when it fails.
const WHAT: &str = "the table";
