//! The open folder of a workspace.

use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::error::{Error, io_reason};

/// Largest file that is read or written, in bytes.
pub(super) const MAX_FILE_BYTES: u64 = 512 * 1024;

/// An open workspace.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(super) dir: Dir,
    pub(super) root: PathBuf,
}

impl Workspace {
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let root = folder.canonicalize()?;
        Ok(Self { dir: Dir::open_ambient_dir(&root, ambient_authority())?, root })
    }

    /// Reads a complete text file.
    pub(super) fn text(&self, path: &str) -> Result<String, Error> {
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
pub(super) fn relative_path(path: &str) -> Result<&Path, Error> {
    let relative = Path::new(path);
    let is_inside =
        relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if path.is_empty() || !is_inside {
        return Err(Error::Path(path.to_owned()));
    }
    Ok(relative)
}
