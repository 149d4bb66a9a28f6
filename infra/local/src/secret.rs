//! Secrets in the data folder: random text in a file that only its owner can read.

use std::io::{ErrorKind, Write};
use std::path::Path;

use uuid::Uuid;

/// Shortest secret that is accepted, in bytes. Generated ones are twice as long.
const MIN_BYTES: usize = 32;

/// A secret that can't be used. Each message is one line that names the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file can't be read or written.
    #[error("Can't read or write the secret {path}")]
    Unusable {
        /// The file.
        path: String,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The file is empty, or its secret can be guessed.
    #[error(
        "The secret {path} has {bytes} bytes and needs at least {MIN_BYTES}. Delete the file; the next start creates another."
    )]
    TooShort {
        /// The file.
        path: String,
        /// Length of the secret.
        bytes: usize,
    },
}

/// Returns a random secret: 244 bits from the operating system, in hex.
pub(crate) fn random() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

/// Returns the secret in this file of the data folder, which is created if missing.
///
/// # Errors
/// Fails if the file can't be read or written, or if it is empty or too short.
pub(crate) fn read_or_create(folder: &Path, file: &str) -> Result<String, Error> {
    let path = folder.join(file);
    let unusable = |source| Error::Unusable { path: path.display().to_string(), source };
    if !path.exists() {
        create(folder, &path).map_err(unusable)?;
    }
    read(&path)
}

/// Returns the secret in a file.
///
/// # Errors
/// Fails if the file can't be read, or if it is empty or too short.
pub(crate) fn read(path: &Path) -> Result<String, Error> {
    let name = || path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|source| Error::Unusable { path: name(), source })?;
    let secret = text.trim();
    match secret.len() {
        bytes if bytes < MIN_BYTES => Err(Error::TooShort { path: name(), bytes }),
        _ => Ok(secret.to_owned()),
    }
}

/// Creates the file. It is written to a temporary file and renamed into place, so that a process that starts
/// concurrently never reads a partial one.
fn create(folder: &Path, path: &Path) -> std::io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(random().as_bytes())?;
    // A crash of the machine must not leave an empty file under the final name.
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_is_created_once() {
        let folder = tempfile::tempdir().unwrap();
        let secret = read_or_create(folder.path(), "s").unwrap();
        assert_eq!(secret.len(), 64);
        assert_eq!(read_or_create(folder.path(), "s").unwrap(), secret);
        assert_ne!(read_or_create(folder.path(), "other").unwrap(), secret);
    }

    #[test]
    fn empty_or_short_secret_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["", "\n", "guessable"] {
            std::fs::write(folder.path().join("token-secret"), text).unwrap();
            let error = read_or_create(folder.path(), "token-secret").unwrap_err().to_string();
            assert!(error.contains("token-secret") && error.contains("Delete the file"), "{error}");
        }
    }
}
