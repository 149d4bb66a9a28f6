//! A folder that an agent may work in, and nothing outside of it.
//!
//! Every path is resolved inside an open folder, symbolic links included, so there is no moment between looking and
//! doing in which a link could be put in the way. What is found is bounded in size and number.

mod patch;
mod walk;

use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use serde::Deserialize;
use serde_json::{Value, json};

pub(crate) use patch::{Change, Patch};

/// The largest file that is read or written, in bytes.
const LARGEST_FILE: u64 = 512 * 1024;
/// A temporary file is in the folder of the file that it becomes.
const TEMPORARY: &str = ".aptix-patch";

/// Why a tool could not do what it was called for. The model is told these words.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The path is not one of the workspace.
    #[error("{0:?} is no path inside the workspace: it is relative to its root, without `..`")]
    Path(String),
    /// Nothing is there, or it can't be had.
    #[error("{path}: {why}")]
    File { path: String, why: String },
    /// The patch does not say what it changes, or does not fit.
    #[error("{0}")]
    Patch(String),
    /// The expression to search for is none.
    #[error("the pattern is no regular expression: {0}")]
    Pattern(String),
    /// The arguments are not those of the tool.
    #[error("the arguments are not those of {tool}: {why}")]
    Arguments { tool: &'static str, why: String },
    /// There is no such tool.
    #[error("this client has no tool {0}")]
    Unknown(String),
}

/// What a call asks for.
#[derive(Debug)]
pub(crate) enum Call {
    Read { path: String },
    List { path: String },
    Search { pattern: String, path: String },
    Write { path: String, patch: String },
}

#[derive(Deserialize)]
struct Of {
    #[serde(default)]
    path: String,
    #[serde(default)]
    pattern: String,
    #[serde(default)]
    patch: String,
}

impl Call {
    /// A tool's name and its arguments as JSON.
    pub(crate) fn parse(name: &str, arguments: &str) -> Result<Self, Error> {
        let tool = match name {
            "workspace_read_file" => "workspace_read_file",
            "workspace_list_files" => "workspace_list_files",
            "workspace_search_text" => "workspace_search_text",
            "workspace_write_patch" => "workspace_write_patch",
            other => return Err(Error::Unknown(other.to_owned())),
        };
        let wrong = |error: serde_json::Error| Error::Arguments { tool, why: error.to_string() };
        let Of { path, pattern, patch } = serde_json::from_str(arguments).map_err(wrong)?;
        Ok(match tool {
            "workspace_read_file" => Self::Read { path },
            "workspace_list_files" => Self::List { path },
            "workspace_search_text" => Self::Search { pattern, path },
            _ => Self::Write { path, patch },
        })
    }
}

/// The folder.
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

    /// Reads what a call asks for. A patch is not applied here: that is asked first.
    pub(crate) fn read_only(&self, call: &Call) -> Result<Value, Error> {
        match call {
            Call::Read { path } => Ok(json!({ "text": self.text(path)? })),
            Call::List { path } => self.list(path),
            Call::Search { pattern, path } => self.search(pattern, path),
            Call::Write { path, .. } => Err(Error::Patch(format!("{path}: nobody was asked"))),
        }
    }

    /// What a patch would make of its file. Nothing is written.
    pub(crate) fn patched(&self, path: &str, patch: &str) -> Result<Change, Error> {
        let patch = Patch::parse(patch)?;
        let exists = self.dir.symlink_metadata(inside(path)?).is_ok();
        if patch.is_new && exists {
            return Err(Error::Patch(format!("{path} is there already: patch it as it is")));
        }
        let before = if patch.is_new { String::new() } else { self.text(path)? };
        patch.applied(path, &before)
    }

    /// Does what was agreed to: the file is the old one or the new one, whatever fails.
    pub(crate) fn write(&self, path: &str, change: &Change) -> Result<(), Error> {
        let at = inside(path)?;
        let told = |error: io::Error| Error::File { path: path.to_owned(), why: plain(&error) };
        let Change::Written(text) = change else {
            return self.dir.remove_file(at).map_err(told);
        };
        if let Some(folder) = at.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            self.dir.create_dir_all(folder).map_err(told)?;
        }
        // The file that a link leads to changes, and not the link.
        let at = self.dir.canonicalize(at).unwrap_or_else(|_| at.to_owned());
        let temporary = at.with_file_name(TEMPORARY);
        let permissions = self.dir.metadata(&at).map(|known| known.permissions());
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
            told(error)
        })
    }

    /// A text file, whole.
    fn text(&self, path: &str) -> Result<String, Error> {
        let told = |why: &str| Error::File { path: path.to_owned(), why: why.to_owned() };
        let file = self.dir.open(inside(path)?).map_err(|error| told(&plain(&error)))?;
        let kind = file.metadata().map_err(|error| told(&plain(&error)))?;
        if !kind.is_file() {
            return Err(told("this is no file"));
        }
        let mut bytes = Vec::new();
        file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(|error| told(&plain(&error)))?;
        if bytes.len() as u64 > LARGEST_FILE {
            return Err(told(&format!("this is larger than {LARGEST_FILE} bytes")));
        }
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(text),
            _ => Err(told("this is no text")),
        }
    }
}

/// A path that names something below the root. Links are for the folder to refuse.
fn inside(path: &str) -> Result<&Path, Error> {
    let relative = Path::new(path);
    let is_inside =
        relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if path.is_empty() || !is_inside {
        return Err(Error::Path(path.to_owned()));
    }
    Ok(relative)
}

/// What the system says, without the path of this machine.
fn plain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "this is not there".to_owned(),
        io::ErrorKind::PermissionDenied => "this may not be had, or leads out of the workspace".to_owned(),
        kind => kind.to_string(),
    }
}

#[cfg(test)]
mod tests;
