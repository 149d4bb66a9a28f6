//! The model that a user sets in the console of a local cloud. The data folder keeps it, and a start without options for a model
//! uses it.
//!
//! Deliberately absent: the providers' addresses and the check of a key. The program that starts the cloud has them.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::private_file;

/// File in the data folder. It holds a key, so only its owner can read it.
const FILE: &str = "model.json";

/// A saved model that can't be read or written. Each message is one line that names the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file can't be read, written or deleted.
    #[error("Can't read or write the model in {path}: {source}")]
    Unusable {
        /// The file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The file is not one of the console.
    #[error("The model in {path} is invalid: {source}. Delete the file to use the mock model.")]
    Invalid {
        /// The file.
        path: String,
        /// The cause.
        source: serde_json::Error,
    },
}

/// A choice of a model, as the console sends and the data folder keeps it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct SavedModel {
    /// Name of the provider, as for `--provider`.
    pub provider: String,
    /// The provider's key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    /// Base URL. Defaults to the provider's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Name of the model. Defaults to the functions' setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Without the key, so that no log has it.
impl fmt::Debug for SavedModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { provider, api_key: _, base_url, name } = self;
        formatter.debug_tuple("SavedModel").field(provider).field(base_url).field(name).finish()
    }
}

/// Returns the path of the saved model of a data folder.
#[must_use]
pub fn path(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

/// Returns the saved model of a data folder, or `None` if the console has set none.
///
/// # Errors
/// Fails if the file can't be read, or if it is invalid.
pub fn read(folder: &Path) -> Result<Option<SavedModel>, Error> {
    let path = path(folder);
    let name = || path.display().to_string();
    match std::fs::read(&path) {
        Ok(bytes) => {
            serde_json::from_slice(&bytes).map(Some).map_err(|source| Error::Invalid { path: name(), source })
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Unusable { path: name(), source }),
    }
}

/// Saves a model, or removes the saved one.
pub(crate) fn save(folder: &Path, model: Option<&SavedModel>) -> Result<(), Error> {
    let path = path(folder);
    let saved = match model {
        Some(model) => serde_json::to_vec(model)
            .map_err(std::io::Error::other)
            .and_then(|bytes| private_file::write(&path, bytes)),
        None => match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
    };
    saved.map_err(|source| Error::Unusable { path: path.display().to_string(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_model_is_read_replaced_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()).unwrap(), None);
        save(folder.path(), None).unwrap();
        let mut model = SavedModel {
            provider: "openai".to_owned(),
            api_key: Some("sk-secret".to_owned()),
            base_url: None,
            name: None,
        };
        save(folder.path(), Some(&model)).unwrap();
        model.name = Some("m".to_owned());
        save(folder.path(), Some(&model)).unwrap();
        assert_eq!(read(folder.path()).unwrap().as_ref(), Some(&model));
        assert!(!format!("{model:?}").contains("sk-secret"));
        save(folder.path(), None).unwrap();
        assert_eq!(read(folder.path()).unwrap(), None);
        std::fs::write(path(folder.path()), "{}").unwrap();
        assert!(matches!(read(folder.path()), Err(Error::Invalid { .. })));
    }
}
