//! Changes to files: computed from a patch, and written once they are approved.

use std::io::{self, Write};

use cap_std::fs::OpenOptions;

use super::error::{Error, io_reason};
use super::folder::{Workspace, relative_path};
use super::patch::{Change, Patch};

/// Temporary file, in the same folder as the file that it replaces.
pub(super) const TEMP_FILE: &str = ".aptix-patch";

impl Workspace {
    /// Computes the change that a patch makes to its file, without writing it.
    pub(crate) fn prepare_change(&self, path: &str, patch: &str) -> Result<Change, Error> {
        let patch = Patch::parse(patch)?;
        let exists = self.dir.symlink_metadata(relative_path(path)?).is_ok();
        if patch.is_new && exists {
            return Err(Error::Patch(format!("{path} already exists; patch its current contents")));
        }
        let before = if patch.is_new { String::new() } else { self.text(path)? };
        patch.apply(path, &before)
    }

    /// Writes an approved change. If anything fails, the file keeps its old contents.
    pub(crate) fn write(&self, path: &str, change: &Change) -> Result<(), Error> {
        let at = relative_path(path)?;
        let file_error = |error: io::Error| Error::File { path: path.to_owned(), why: io_reason(&error) };
        let Change::Write(text) = change else {
            return self.dir.remove_file(at).map_err(file_error);
        };
        if let Some(folder) = at.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            self.dir.create_dir_all(folder).map_err(file_error)?;
        }
        // Resolve links, so that the target changes and not the link.
        let at = self.dir.canonicalize(at).unwrap_or_else(|_| at.to_owned());
        let temporary = at.with_file_name(TEMP_FILE);
        let permissions = self.dir.metadata(&at).map(|metadata| metadata.permissions());
        let write = || {
            let mut file =
                self.dir.open_with(&temporary, OpenOptions::new().write(true).create(true).truncate(true))?;
            file.write_all(text.as_bytes())?;
            if let Ok(permissions) = permissions {
                file.set_permissions(permissions)?;
            }
            file.sync_all()?;
            self.dir.rename(&temporary, &self.dir, &at)
        };
        write().map_err(|error| {
            let _ = self.dir.remove_file(&temporary);
            file_error(error)
        })
    }
}
