//! The stored sign-ins of a user: one file for each deployment, in the system's configuration folder, and private.

use std::fs::{self, DirBuilder};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::sign_in::SignIn;

/// Folder of this program in the configuration folder.
const PROGRAM: &str = "aptix";
/// Folder of the sign-ins.
const FOLDER: &str = "sign-ins";
/// Characters that a file name can't hold.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');

/// The sign-ins of this user.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
}

/// A failure to read or write sign-ins.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system names no folder for configuration.
    #[error("No configuration folder is known. Set HOME.")]
    NoFolder,
    /// A file can't be read or written.
    #[error("Can't use {path}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A file is not a sign-in.
    #[error("{path} is not a sign-in. Delete it and sign in again.")]
    Unreadable {
        /// The file.
        path: PathBuf,
    },
    /// Several deployments have a stack of this name.
    #[error("You are signed in to several stacks {stack:?}: {urls}. Name one with --api-url.")]
    Ambiguous {
        /// The stack's name.
        stack: String,
        /// The URLs of the APIs.
        urls: String,
    },
}

impl Store {
    /// Returns the store in the system's configuration folder.
    ///
    /// # Errors
    /// Fails if the environment names no such folder.
    pub fn open() -> Result<Self, StoreError> {
        let folder = config_folder().ok_or(StoreError::NoFolder)?;
        Ok(Self { folder: folder.join(PROGRAM).join(FOLDER) })
    }

    /// The folder of the sign-ins.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a sign-in in place of that to the same deployment.
    ///
    /// # Errors
    /// Fails if the file can't be written.
    pub fn save(&self, sign_in: &SignIn) -> Result<(), StoreError> {
        let path = self.path(&sign_in.api_url);
        self.write(&path, sign_in).map_err(|source| StoreError::File { path, source })
    }

    fn write(&self, path: &Path, sign_in: &SignIn) -> std::io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.folder)?;
        // Temporary files are private, and stay so when they are renamed.
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(&serde_json::to_vec_pretty(sign_in)?)?;
        file.persist(path).map(drop).map_err(|error| error.error)
    }

    /// Returns the user's sign-in to a deployment.
    ///
    /// # Errors
    /// Fails if the file can't be read.
    pub fn find(&self, api_url: &str) -> Result<Option<SignIn>, StoreError> {
        read(&self.path(api_url))
    }

    /// Returns the user's sign-in to a stack.
    ///
    /// # Errors
    /// Fails if there are several, or if a file can't be read.
    pub fn find_stack(&self, stack: &str) -> Result<Option<SignIn>, StoreError> {
        let mut found = self.all()?;
        found.retain(|sign_in| sign_in.stack.as_deref() == Some(stack));
        if found.len() > 1 {
            let urls: Vec<_> = found.into_iter().map(|sign_in| sign_in.api_url).collect();
            return Err(StoreError::Ambiguous { stack: stack.to_owned(), urls: urls.join(", ") });
        }
        Ok(found.pop())
    }

    fn all(&self) -> Result<Vec<SignIn>, StoreError> {
        let failed = |source| StoreError::File { path: self.folder.clone(), source };
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                found.extend(read(&path)?);
            }
        }
        found.sort_by(|a, b| a.api_url.cmp(&b.api_url));
        Ok(found)
    }

    /// Deletes the sign-in to a deployment.
    ///
    /// # Errors
    /// Fails if the file can't be deleted.
    pub fn remove(&self, api_url: &str) -> Result<(), StoreError> {
        let path = self.path(api_url);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(StoreError::File { path, source: error })
            }
            _ => Ok(()),
        }
    }

    fn path(&self, api_url: &str) -> PathBuf {
        let name = api_url.trim_end_matches('/');
        let name = name.strip_prefix("https://").unwrap_or(name);
        self.folder.join(format!("{}.json", utf8_percent_encode(name, ENCODED)))
    }
}

fn read(path: &Path) -> Result<Option<SignIn>, StoreError> {
    match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StoreError::File { path: path.to_owned(), source }),
        Ok(bytes) => {
            let sign_in = serde_json::from_slice(&bytes);
            sign_in.map(Some).map_err(|_| StoreError::Unreadable { path: path.to_owned() })
        }
    }
}

/// Returns the system's folder for the configuration of programs.
fn config_folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if cfg!(windows) {
        return variable("APPDATA");
    }
    let default = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".config" };
    variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(default)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sign_in::Refresh;

    fn sign_in(api_url: &str, stack: &str) -> SignIn {
        SignIn {
            api_url: api_url.to_owned(),
            stack: Some(stack.to_owned()),
            user: "ada".to_owned(),
            token: "token".to_owned(),
            expires_at: 1,
            refresh: Refresh::Cognito {
                endpoint: "https://cognito".to_owned(),
                client_id: "client".to_owned(),
                refresh_token: "refresh".to_owned(),
            },
        }
    }

    #[test]
    fn sign_ins_are_found_by_url_and_by_stack() {
        let root = tempfile::tempdir().unwrap();
        let store = Store { folder: root.path().join("sign-ins") };
        assert!(
            store.find("https://a/live").unwrap().is_none() && store.find_stack("dev").unwrap().is_none()
        );
        let (a, b) = (sign_in("https://a/live", "dev"), sign_in("http://127.0.0.1:1/live", "prod"));
        store.save(&a).unwrap();
        store.save(&b).unwrap();
        assert_eq!(store.find("https://a/live/").unwrap(), Some(a.clone()));
        assert_eq!(store.find_stack("prod").unwrap(), Some(b));
        store.save(&sign_in("https://c/live", "dev")).unwrap();
        let error = store.find_stack("dev").unwrap_err().to_string();
        assert!(error.contains("https://a/live, https://c/live") && error.contains("--api-url"), "{error}");
        store.remove("https://c/live").unwrap();
        store.remove("https://c/live").unwrap();
        assert_eq!(store.find_stack("dev").unwrap(), Some(a));
    }

    #[cfg(unix)]
    #[test]
    fn sign_in_file_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let store = Store { folder: root.path().join("sign-ins") };
        store.save(&sign_in("https://a/live", "dev")).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&store.folder), mode(&store.path("https://a/live"))), (0o700, 0o600));
    }
}
