//! The data folder: the state of a local cloud, used by one local cloud at a time.

use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::options::Data;
use crate::private_file;
use crate::secret;
use crate::service_keys::ServiceKeys;
use crate::token::{self, Tokens};

/// A data folder that can't be used. Each message is one line that names the folder and the reason.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder can't be created or written to.
    #[error("Can't use {folder} as the data folder: {source}")]
    Unusable {
        /// The folder.
        folder: String,
        /// The cause.
        source: std::io::Error,
    },
    /// Another local cloud uses the folder.
    #[error("The data folder {0} is in use by another local cloud. Choose another with --data.")]
    InUse(String),
    /// An older build wrote the folder.
    #[error(
        "The data folder {folder} was written by an older version of aptix (format {found}; this version reads format \
         {supported}). Delete it, or pass --data FOLDER to use another one.",
        supported = FORMAT
    )]
    OlderFormat {
        /// The folder.
        folder: String,
        /// Format of the folder.
        found: u32,
    },
    /// A newer build wrote the folder.
    #[error(
        "The data folder {folder} was written by a newer version of aptix (format {found}; this version reads format \
         {supported}). Update aptix, or pass --data FOLDER to use another one.",
        supported = FORMAT
    )]
    NewerFormat {
        /// The folder.
        folder: String,
        /// Format of the folder.
        found: u32,
    },
    /// The format marker is not a number.
    #[error(
        "The data folder {0} has an unreadable format marker (this version reads format {supported}). Delete the folder, or \
         pass --data FOLDER to use another one.",
        supported = FORMAT
    )]
    UnreadableFormat(String),
    /// No local cloud was ever started on the folder.
    #[error(
        "No local cloud was ever started on the data folder {0}. Start one with `aptix up`, or name its folder with --data."
    )]
    NoCloud(String),
    /// The folder's token secret can't be used.
    #[error(transparent)]
    Token(#[from] token::Error),
    /// Another secret of the folder can't be used.
    #[error(transparent)]
    Secret(#[from] secret::Error),
}

/// Lock file, held while a cloud runs on the folder.
const LOCK: &str = "lock";
/// Longest time that [`is_in_use`] holds the lock.
const PROBE_TIME: Duration = Duration::from_millis(50);
/// File that holds the format of the folder's state.
const FORMAT_FILE: &str = "format";
/// Format of the state that this version reads and writes. Increment it with every incompatible change of what is
/// stored in the table, the bucket or the vector database.
const FORMAT: u32 = 4;
/// Oldest format that this version opens. Older versions wrote no inline requests, and nothing else differs.
const OLDEST_FORMAT: u32 = 3;
/// Format of folders without a marker: the builds that wrote them did not have one.
const UNMARKED_FORMAT: u32 = 1;
/// Database file in the data folder.
const DATABASE: &str = "dynamodb.sqlite";
/// Object store's file in the data folder.
const OBJECTS: &str = "s3.sqlite";
/// File that holds the key of the console.
const CONSOLE_KEY: &str = "console-key";
/// Vector database's folder in the data folder.
const VECTORS: &str = "qdrant";

/// An open data folder. Dropping it releases the lock, and deletes the folder if it is ephemeral.
#[derive(Debug)]
pub(crate) struct DataFolder {
    root: PathBuf,
    is_durable: bool,
    /// Held until dropped. The operating system also releases the lock if this process is killed.
    _lock: File,
    /// The temporary folder of an ephemeral cloud; deleted when dropped.
    _temporary: Option<tempfile::TempDir>,
}

impl DataFolder {
    /// Opens the folder and creates whatever is missing.
    pub(crate) fn open(data: &Data) -> Result<Self, Error> {
        match data {
            Data::Folder(root) => Self::open_at(root.clone(), None),
            Data::Ephemeral => {
                let temporary = tempfile::Builder::new().prefix("local-cloud-").tempdir();
                let temporary = temporary.map_err(unusable(&std::env::temp_dir()))?;
                Self::open_at(temporary.path().to_owned(), Some(temporary))
            }
        }
    }

    fn open_at(root: PathBuf, temporary: Option<tempfile::TempDir>) -> Result<Self, Error> {
        for folder in [&root, &logs(&root)] {
            private_file::create_folder(folder).map_err(unusable(&root))?;
        }
        let lock = private_file::append(&root.join(LOCK)).map_err(unusable(&root))?;
        let mut locked = lock.try_lock();
        if matches!(locked, Err(TryLockError::WouldBlock)) {
            // A command that looks for running clouds holds the lock for a moment.
            std::thread::sleep(PROBE_TIME);
            locked = lock.try_lock();
        }
        match locked {
            Ok(()) => {
                check_format(&root)?;
                Ok(Self { root, is_durable: temporary.is_none(), _lock: lock, _temporary: temporary })
            }
            Err(TryLockError::WouldBlock) => Err(Error::InUse(root.display().to_string())),
            Err(TryLockError::Error(source)) => Err(unusable(&root)(source)),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the database file, or none for an ephemeral cloud, whose database is in memory.
    pub(crate) fn database(&self) -> Result<Option<PathBuf>, Error> {
        self.is_durable.then(|| self.private_file(DATABASE)).transpose()
    }

    /// Returns the object store's file. An ephemeral cloud has one too, since objects may be large.
    pub(crate) fn objects(&self) -> Result<PathBuf, Error> {
        self.private_file(OBJECTS)
    }

    /// Returns the path of a file, which is created if it does not exist. SQLite gives its other files the same mode.
    fn private_file(&self, name: &str) -> Result<PathBuf, Error> {
        let path = self.root.join(name);
        private_file::append(&path).map_err(unusable(&self.root))?;
        // SQLite removes these with its last connection, which may be one of a cloud that has just ended.
        for other in ["-wal", "-shm"] {
            let file = self.root.join(format!("{name}{other}"));
            private_file::make_private(&file).map_err(unusable(&self.root))?;
        }
        Ok(path)
    }

    /// Returns the vector database's folder. An ephemeral cloud has one too.
    pub(crate) fn vectors(&self) -> PathBuf {
        self.root.join(VECTORS)
    }

    pub(crate) fn logs(&self) -> PathBuf {
        logs(&self.root)
    }

    /// Returns tokens signed with the folder's secret. The secret of an ephemeral cloud is deleted with its folder.
    pub(crate) fn tokens(&self) -> Result<Tokens, Error> {
        Ok(Tokens::from_folder(&self.root)?)
    }

    /// Returns the keys of the AWS services.
    pub(crate) fn service_keys(&self) -> Result<ServiceKeys, Error> {
        Ok(ServiceKeys::from_folder(&self.root)?)
    }

    /// Returns the key of the console.
    pub(crate) fn console_key(&self) -> Result<String, Error> {
        Ok(secret::read_or_create(&self.root, CONSOLE_KEY)?)
    }
}

/// Returns true if a local cloud runs on the folder.
pub(crate) fn is_in_use(folder: &Path) -> bool {
    let lock = File::open(folder.join(LOCK));
    lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Returns tokens signed with the secret of a folder that a local cloud uses or has used.
///
/// # Errors
/// Fails if no local cloud was ever started on the folder, or if the secret can't be read.
pub fn tokens(folder: &Path) -> Result<Tokens, Error> {
    if !folder.join(LOCK).exists() {
        return Err(Error::NoCloud(folder.display().to_string()));
    }
    Ok(Tokens::from_folder(folder)?)
}

/// Returns the key of the console of the local cloud on a folder.
///
/// # Errors
/// Fails if no local cloud was ever started on the folder, or if the key can't be read.
pub fn console_key(folder: &Path) -> Result<String, Error> {
    if !folder.join(CONSOLE_KEY).exists() {
        return Err(Error::NoCloud(folder.display().to_string()));
    }
    Ok(secret::read(&folder.join(CONSOLE_KEY))?)
}

/// Checks the format of the folder's state. Marks a folder without state, or of an older format that this version opens,
/// as one of the current format.
fn check_format(root: &Path) -> Result<(), Error> {
    let folder = root.display().to_string();
    let found = match std::fs::read_to_string(root.join(FORMAT_FILE)) {
        Ok(marker) => marker.trim().parse().map_err(|_| Error::UnreadableFormat(folder.clone()))?,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if !has_state(root) {
                return write_format(root).map_err(unusable(root));
            }
            UNMARKED_FORMAT
        }
        Err(error) if error.kind() == ErrorKind::InvalidData => return Err(Error::UnreadableFormat(folder)),
        Err(source) => return Err(unusable(root)(source)),
    };
    match found {
        FORMAT => Ok(()),
        OLDEST_FORMAT..FORMAT => write_format(root).map_err(unusable(root)),
        found if found < FORMAT => Err(Error::OlderFormat { folder, found }),
        found => Err(Error::NewerFormat { folder, found }),
    }
}

fn has_state(root: &Path) -> bool {
    [DATABASE, OBJECTS, VECTORS].iter().any(|name| root.join(name).exists())
}

/// Writes the marker to a temporary file and renames it, so that a crash never leaves a partial one.
fn write_format(root: &Path) -> std::io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(root)?;
    writeln!(file, "{FORMAT}")?;
    file.persist(root.join(FORMAT_FILE)).map(drop).map_err(|error| error.error)
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
    fn files_that_sqlite_removes_meanwhile_are_no_error() {
        let root = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(&Data::Folder(root.path().to_owned())).unwrap();
        let removed = root.path().join(format!("{DATABASE}-wal"));
        std::thread::scope(|scope| {
            let removing = scope.spawn(|| {
                for _ in 0..5_000 {
                    std::fs::write(&removed, "").unwrap();
                    _ = std::fs::remove_file(&removed);
                }
            });
            while !removing.is_finished() {
                folder.database().unwrap();
            }
        });
    }

    #[test]
    fn folder_is_locked_by_one_cloud() {
        let folder = tempfile::tempdir().unwrap();
        let data = Data::Folder(folder.path().join("created"));
        let first = DataFolder::open(&data).unwrap();
        assert!(matches!(DataFolder::open(&data), Err(Error::InUse(_))));
        drop(first);
        assert!(DataFolder::open(&data).is_ok());
    }

    #[test]
    fn file_is_refused_as_folder() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let data = Data::Folder(file.path().to_owned());
        assert!(matches!(DataFolder::open(&data), Err(Error::Unusable { .. })));
    }

    #[test]
    fn ephemeral_folder_is_removed_on_drop() {
        let folder = DataFolder::open(&Data::Ephemeral).unwrap();
        let root = folder.root().to_owned();
        assert!(root.exists());
        drop(folder);
        assert!(!root.exists());
    }
}
