//! DynamoDB: dynoxide, on a file in the data folder or in memory.

use std::path::Path;
use std::time::Duration;

use dynoxide::Database;

/// A database that could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("Can't open the database: {0}")]
pub struct Error(String);

/// Time between removals of expired items. AWS takes up to days, so nothing may depend on it.
const EXPIRY_PERIOD: Duration = Duration::from_secs(60);

/// Opens the database in `file`, or an in-memory one.
pub(crate) fn open(file: Option<&Path>) -> Result<Database, Error> {
    let opened = match file {
        None => Database::memory(),
        Some(file) => match file.to_str() {
            Some(path) => Database::new(path),
            None => return Err(Error(format!("{} is not UTF-8", file.display()))),
        },
    };
    opened.map_err(|error| Error(error.to_string()))
}

/// Removes expired items at the start and then periodically, until dropped.
pub(crate) async fn expire(database: Database) {
    let mut period = tokio::time::interval(EXPIRY_PERIOD);
    loop {
        period.tick().await;
        let database = database.clone();
        // A failed removal is retried in the next period. Until then readers check the expiry themselves.
        let _ = tokio::task::spawn_blocking(move || database.sweep_ttl()).await;
    }
}
