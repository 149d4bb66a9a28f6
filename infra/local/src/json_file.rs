//! JSON files that a user names on the command line.

use std::path::Path;

use serde::de::DeserializeOwned;

/// A failure to read a JSON file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file can't be read, or isn't UTF-8.
    #[error("Can't read {file}")]
    Unreadable {
        /// Path of the file.
        file: String,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The file isn't JSON, or not of the expected shape.
    #[error("Invalid JSON in {file}")]
    Invalid {
        /// Path of the file.
        file: String,
        /// The cause, with its line and column.
        #[source]
        source: serde_json::Error,
    },
}

/// Reads a JSON file.
///
/// # Errors
/// Fails if the file can't be read or parsed.
pub fn read<T: DeserializeOwned>(file: &Path) -> Result<T, Error> {
    serde_json::from_str(&read_text(file)?)
        .map_err(|source| Error::Invalid { file: file.display().to_string(), source })
}

/// Reads the text of a file, without its byte order mark.
///
/// # Errors
/// Fails if the file can't be read, or isn't UTF-8.
pub fn read_text(file: &Path) -> Result<String, Error> {
    let text = std::fs::read_to_string(file)
        .map_err(|source| Error::Unreadable { file: file.display().to_string(), source })?;
    Ok(without_byte_order_mark(&text).to_owned())
}

/// Removes a byte order mark, which editors on Windows write and JSON parsers reject.
#[must_use]
pub fn without_byte_order_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}
