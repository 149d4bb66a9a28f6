//! DynamoDB: dynoxide, on a file in the data folder or in memory.

use std::path::Path;

use dynoxide::Database;

/// A database that could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the database: {0}")]
pub struct Error(String);

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
