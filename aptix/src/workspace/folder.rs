//! The open folder of a workspace.

use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};

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
        let file = self.open_file(relative_path(path)?).map_err(|error| file_error(&io_reason(&error)))?;
        let Some(file) = file else { return Err(file_error("not a file")) };
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

    /// Opens a regular file. Returns none for anything else; to open a pipe or a device could block or have effects.
    fn open_file(&self, path: &Path) -> io::Result<Option<File>> {
        if !self.dir.metadata(path)?.is_file() {
            return Ok(None);
        }
        let mut options = OpenOptions::new();
        options.read(true);
        // The file can be replaced by a pipe in the meantime.
        #[cfg(unix)]
        cap_std::fs::OpenOptionsExt::custom_flags(&mut options, nix::fcntl::OFlag::O_NONBLOCK.bits());
        let file = self.dir.open_with(path, &options)?;
        Ok(file.metadata()?.is_file().then_some(file))
    }

    /// Resolves the links of a path. Its last parts may not exist yet.
    pub(super) fn resolve(&self, path: &str) -> Result<PathBuf, Error> {
        let relative = relative_path(path)?;
        for existing in relative.ancestors() {
            let folder = if existing.as_os_str().is_empty() { Path::new(".") } else { existing };
            match self.dir.canonicalize(folder) {
                Ok(resolved) if existing == relative => return Ok(resolved),
                Ok(resolved) => return Ok(resolved.join(relative.strip_prefix(existing).unwrap_or(relative))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::File { path: path.to_owned(), why: io_reason(&error) }),
            }
        }
        Ok(relative.to_owned())
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
