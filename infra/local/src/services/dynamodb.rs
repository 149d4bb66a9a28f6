//! DynamoDB: dynoxide, on a file in the data folder or in memory.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use dynoxide::Database;
use tokio::task::JoinSet;

use super::error::{Error, listen};
use crate::listener::Server;

/// Time between removals of expired items. AWS takes up to days, so nothing may depend on it.
const EXPIRY_PERIOD: Duration = Duration::from_secs(60);

/// A running DynamoDB.
pub(crate) struct DynamoDb {
    server: Server,
    database: Database,
    expiry: JoinSet<()>,
}

impl DynamoDb {
    /// Starts a DynamoDB on the database in `file`, or on an in-memory one. Items don't expire yet.
    pub(super) async fn start(address: SocketAddr, file: Option<&Path>) -> Result<Self, Error> {
        let database = open(file)?;
        let served = database.clone();
        let server =
            listen(address).await?.serve_with(|listener| dynoxide::server::serve_on(listener, served));
        Ok(Self { server, database, expiry: JoinSet::new() })
    }

    pub(crate) fn url(&self) -> &str {
        self.server.url()
    }

    /// Starts to remove expired items, now and then periodically. Call it once the table has its TTL: the first
    /// removal would find nothing before, and the next one is a minute later.
    pub(crate) fn start_expiry(&mut self) {
        self.expiry.spawn(expire(self.database.clone()));
    }
}

impl std::fmt::Debug for DynamoDb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DynamoDb").field("server", &self.server).finish_non_exhaustive()
    }
}

fn open(file: Option<&Path>) -> Result<Database, Error> {
    let opened = match file {
        None => Database::memory(),
        Some(file) => match file.to_str() {
            Some(path) => Database::new(path),
            None => return Err(Error::Database(format!("{} is not UTF-8", file.display()))),
        },
    };
    opened.map_err(|error| Error::Database(error.to_string()))
}

/// Removes expired items at the start and then periodically, until dropped.
async fn expire(database: Database) {
    let mut period = tokio::time::interval(EXPIRY_PERIOD);
    loop {
        period.tick().await;
        let database = database.clone();
        // A failed removal is retried in the next period. Until then readers check the expiry themselves.
        let _ = tokio::task::spawn_blocking(move || database.sweep_ttl()).await;
    }
}
