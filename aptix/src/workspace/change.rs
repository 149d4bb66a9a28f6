//! Changes to files: computed from a patch, and written once they are approved.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cap_std::fs::OpenOptions;
use uuid::Uuid;

use super::error::{Error, io_reason};
use super::folder::{Workspace, relative_path};
use super::patch::{Change, Patch};
use super::protection::Protection;

/// A change that waits for approval.
#[derive(Debug)]
pub(crate) struct ProposedChange {
    path: String,
    /// The file itself, behind every link.
    target: PathBuf,
    /// The file's text. `None` if the change creates the file.
    before: Option<String>,
    pub(super) change: Change,
    /// The hunks as they apply. They are the change, to the byte.
    pub(crate) hunks: String,
    /// The reason for which the user approves this change separately.
    pub(crate) protection: Option<Protection>,
}

impl ProposedChange {
    /// Returns a verb for the effect on the file.
    pub(crate) fn verb(&self) -> &'static str {
        match (&self.change, &self.before) {
            (Change::Delete, _) => "Delete",
            (Change::Write(_), None) => "Create",
            (Change::Write(_), Some(_)) => "Change",
        }
    }
}

impl Workspace {
    /// Computes the change that a patch makes to its file, without writing it.
    pub(crate) fn prepare_change(&self, path: &str, patch: &str) -> Result<ProposedChange, Error> {
        let patch = Patch::parse(patch)?;
        let before = if patch.is_new {
            self.check_absent(path)?;
            None
        } else {
            Some(self.text(path)?)
        };
        let (change, hunks) = patch.apply(path, before.as_deref().unwrap_or_default())?;
        let (target, protection) = (self.resolve(path)?, self.protection(path)?);
        Ok(ProposedChange { path: path.to_owned(), target, before, change, hunks, protection })
    }

    /// Writes an approved change. If anything fails, the file keeps its old contents.
    pub(crate) fn write(&self, proposed: &ProposedChange) -> Result<(), Error> {
        let ProposedChange { path, target, before, change, .. } = proposed;
        match before {
            None => self.check_absent(path)?,
            Some(before) if self.text(path)? == *before => {}
            Some(_) => {
                return Err(Error::Patch(format!(
                    "{path} changed before the patch was approved; read it again"
                )));
            }
        }
        let file_error = |error: io::Error| Error::File { path: path.clone(), why: io_reason(&error) };
        let Change::Write(text) = change else {
            return self.dir.remove_file(relative_path(path)?).map_err(file_error);
        };
        self.replace(target, text).map_err(file_error)
    }

    /// Replaces a file with a temporary one in the same folder, which has an unpredictable name and is created anew.
    fn replace(&self, target: &Path, text: &str) -> io::Result<()> {
        if let Some(folder) = target.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            self.dir.create_dir_all(folder)?;
        }
        let permissions = self.dir.metadata(target).map(|metadata| metadata.permissions());
        let temporary = target.with_file_name(format!(".{}.tmp", Uuid::new_v4().simple()));
        let mut file = self.dir.open_with(&temporary, OpenOptions::new().write(true).create_new(true))?;
        let write = || {
            if let Ok(permissions) = permissions {
                file.set_permissions(permissions)?;
            }
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            self.dir.rename(&temporary, &self.dir, target)
        };
        write().inspect_err(|_| {
            let _ = self.dir.remove_file(&temporary);
        })
    }

    fn check_absent(&self, path: &str) -> Result<(), Error> {
        if self.dir.symlink_metadata(relative_path(path)?).is_ok() {
            return Err(Error::Patch(format!("{path} already exists; patch its current contents")));
        }
        Ok(())
    }
}
