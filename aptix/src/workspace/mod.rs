//! A workspace: a folder that an agent may read and change, and nothing outside it.
//!
//! Every path, symbolic links included, is resolved inside an open folder handle, so no link can be swapped in
//! between check and use. Results are bounded in size and number.

mod patch;
mod walk;

use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use serde::Deserialize;
use serde_json::{Value, json};

pub(crate) use patch::{Change, Patch};

/// Largest file that is read or written, in bytes.
const MAX_FILE_BYTES: u64 = 512 * 1024;
/// Temporary file, in the same folder as the file that it replaces.
const TEMP_FILE: &str = ".aptix-patch";

/// A failed tool call. The model sees the message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The path is outside the workspace.
    #[error("{0:?} is not a path inside the workspace; use a path relative to its root, without `..`")]
    Path(String),
    /// The file does not exist or can't be accessed.
    #[error("{path}: {why}")]
    File { path: String, why: String },
    /// The patch is invalid or does not apply.
    #[error("{0}")]
    Patch(String),
    /// The search pattern is invalid.
    #[error("the pattern is not a valid regular expression: {0}")]
    Pattern(String),
    /// The arguments don't match the tool's schema.
    #[error("invalid arguments for {tool}: {why}")]
    Arguments { tool: &'static str, why: String },
    /// There is no such tool.
    #[error("this client has no tool {0}")]
    Unknown(String),
}

/// A parsed tool call.
#[derive(Debug)]
pub(crate) enum Call {
    Read { path: String },
    List { path: String },
    Search { pattern: String, path: String },
    Write { path: String, patch: String },
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    path: String,
    #[serde(default)]
    pattern: String,
    #[serde(default)]
    patch: String,
}

impl Call {
    /// Parses a tool's name and its JSON arguments.
    pub(crate) fn parse(name: &str, arguments: &str) -> Result<Self, Error> {
        let tool = match name {
            "workspace_read_file" => "workspace_read_file",
            "workspace_list_files" => "workspace_list_files",
            "workspace_search_text" => "workspace_search_text",
            "workspace_write_patch" => "workspace_write_patch",
            other => return Err(Error::Unknown(other.to_owned())),
        };
        let invalid = |error: serde_json::Error| Error::Arguments { tool, why: error.to_string() };
        let Arguments { path, pattern, patch } = serde_json::from_str(arguments).map_err(invalid)?;
        Ok(match tool {
            "workspace_read_file" => Self::Read { path },
            "workspace_list_files" => Self::List { path },
            "workspace_search_text" => Self::Search { pattern, path },
            _ => Self::Write { path, patch },
        })
    }
}

/// An open workspace.
#[derive(Debug)]
pub(crate) struct Workspace {
    dir: Dir,
    root: PathBuf,
}

impl Workspace {
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let root = folder.canonicalize()?;
        Ok(Self { dir: Dir::open_ambient_dir(&root, ambient_authority())?, root })
    }

    /// Runs a read-only call. Patches need approval and are not applied here.
    pub(crate) fn read_only(&self, call: &Call) -> Result<Value, Error> {
        match call {
            Call::Read { path } => Ok(json!({ "text": self.text(path)? })),
            Call::List { path } => self.list(path),
            Call::Search { pattern, path } => self.search(pattern, path),
            Call::Write { path, .. } => Err(Error::Patch(format!("{path}: the change was not approved"))),
        }
    }

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

    /// Reads a complete text file.
    fn text(&self, path: &str) -> Result<String, Error> {
        let file_error = |why: &str| Error::File { path: path.to_owned(), why: why.to_owned() };
        let file = self.dir.open(relative_path(path)?).map_err(|error| file_error(&io_reason(&error)))?;
        let kind = file.metadata().map_err(|error| file_error(&io_reason(&error)))?;
        if !kind.is_file() {
            return Err(file_error("not a file"));
        }
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| file_error(&io_reason(&error)))?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(file_error(&format!("larger than {MAX_FILE_BYTES} bytes")));
        }
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(text),
            _ => Err(file_error("not a text file")),
        }
    }
}

/// Checks that a path is relative and stays below the root. The folder handle rejects links that lead outside.
fn relative_path(path: &str) -> Result<&Path, Error> {
    let relative = Path::new(path);
    let is_inside =
        relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if path.is_empty() || !is_inside {
        return Err(Error::Path(path.to_owned()));
    }
    Ok(relative)
}

/// Describes an I/O error without revealing a path of this machine.
fn io_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or folder".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied, or outside the workspace".to_owned(),
        kind => kind.to_string(),
    }
}

#[cfg(test)]
mod tests;
