//! DynamoDB: dynoxide, on a file in the data folder or in memory.

use std::path::Path;
use std::time::Duration;

use dynoxide::Database;

/// A database that could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the database: {0}")]
pub struct Error(String);

/// How often expired items are removed. AWS takes up to days; nothing may depend on it.
const EXPIRY_PERIOD: Duration = Duration::from_secs(60);

/// Opens the database kept in `file`, or one that is forgotten.
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

/// Removes items whose time is over, at the start and from time to time, until it is dropped.
pub(crate) async fn expire(database: Database) {
    let mut period = tokio::time::interval(EXPIRY_PERIOD);
    loop {
        period.tick().await;
        let database = database.clone();
        // What could not be removed is tried again; until then readers look at the time themselves.
        let _ = tokio::task::spawn_blocking(move || database.sweep_ttl()).await;
    }
}
