//! The folder that holds a local cloud's state, used by one local cloud at a time.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use crate::options::Data;
use crate::token::{self, Tokens};

/// A folder that can't be used. Each message is one line that says which folder and why.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It can't be made, or not be written to.
    #[error("cannot use {folder} as the data folder: {source}")]
    Unusable {
        /// The folder.
        folder: String,
        /// Why.
        source: std::io::Error,
    },
    /// Another local cloud uses it.
    #[error("the data folder {0} is in use by another local cloud; choose another with --data")]
    InUse(String),
    /// No local cloud was ever started on it.
    #[error(
        "no local cloud was started on the data folder {0} yet; start one, or name its folder with --data"
    )]
    NoCloud(String),
    /// It is not a folder of ours to keep a secret in.
    #[error(transparent)]
    Token(#[from] token::Error),
}

/// What a cloud holds while it runs on a folder.
const LOCK: &str = "lock";

/// An open data folder. Dropping it frees it, and forgets it when it is ephemeral.
#[derive(Debug)]
pub(crate) struct DataFolder {
    root: PathBuf,
    durable: bool,
    /// OwnedTurn until dropped: the operating system frees the lock also when this process is killed.
    _lock: File,
    /// The folder of an ephemeral cloud; goes when dropped.
    _temporary: Option<tempfile::TempDir>,
}

impl DataFolder {
    /// Opens the folder, making what is missing.
    pub(crate) fn open(data: &Data) -> Result<Self, Error> {
        match data {
            Data::Folder(root) => Self::at(root.clone(), None),
            Data::Ephemeral => {
                let temporary = tempfile::Builder::new().prefix("local-cloud-").tempdir();
                let temporary = temporary.map_err(unusable(&std::env::temp_dir()))?;
                Self::at(temporary.path().to_owned(), Some(temporary))
            }
        }
    }

    fn at(root: PathBuf, temporary: Option<tempfile::TempDir>) -> Result<Self, Error> {
        for folder in [&root, &logs(&root)] {
            std::fs::create_dir_all(folder).map_err(unusable(&root))?;
        }
        let lock = File::create(root.join(LOCK)).map_err(unusable(&root))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { root, durable: temporary.is_none(), _lock: lock, _temporary: temporary }),
            Err(TryLockError::WouldBlock) => Err(Error::InUse(root.display().to_string())),
            Err(TryLockError::Error(source)) => Err(unusable(&root)(source)),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The database's file; none for an ephemeral cloud, whose database is in memory.
    pub(crate) fn database(&self) -> Option<PathBuf> {
        self.durable.then(|| self.root.join("dynamodb.sqlite"))
    }

    /// The objects' file, also of an ephemeral cloud: objects may be large.
    pub(crate) fn objects(&self) -> PathBuf {
        self.root.join("s3.sqlite")
    }

    /// The vector database's folder, also of an ephemeral cloud.
    pub(crate) fn vectors(&self) -> PathBuf {
        self.root.join("qdrant")
    }

    pub(crate) fn logs(&self) -> PathBuf {
        logs(&self.root)
    }

    /// Tokens with the folder's secret; that of an ephemeral cloud goes with its folder.
    pub(crate) fn tokens(&self) -> Result<Tokens, Error> {
        Ok(Tokens::of_folder(&self.root)?)
    }
}

/// Tokens with the secret of a folder that a local cloud uses, or has used.
///
/// # Errors
/// When it is no such folder, or can't be used.
pub fn tokens(folder: &Path) -> Result<Tokens, Error> {
    if !folder.join(LOCK).exists() {
        return Err(Error::NoCloud(folder.display().to_string()));
    }
    Ok(Tokens::of_folder(folder)?)
}

fn logs(root: &Path) -> PathBuf {
    root.join("logs")
}

fn unusable(folder: &Path) -> impl Fn(std::io::Error) -> Error {
    let folder = folder.display().to_string();
    move |source| Error::Unusable { folder: folder.clone(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_used_by_one_cloud_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let data = Data::Folder(folder.path().join("made"));
        let first = DataFolder::open(&data).unwrap();
        assert!(matches!(DataFolder::open(&data), Err(Error::InUse(_))));
        drop(first);
        assert!(DataFolder::open(&data).is_ok());
    }

    #[test]
    fn a_file_is_no_folder() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let data = Data::Folder(file.path().to_owned());
        assert!(matches!(DataFolder::open(&data), Err(Error::Unusable { .. })));
    }

    #[test]
    fn an_ephemeral_folder_is_forgotten() {
        let folder = DataFolder::open(&Data::Ephemeral).unwrap();
        let root = folder.root().to_owned();
        assert!(root.exists());
        drop(folder);
        assert!(!root.exists());
    }
}
