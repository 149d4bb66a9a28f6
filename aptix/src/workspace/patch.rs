//! A unified diff of one file.

use super::error::Error;
use super::folder::MAX_FILE_BYTES;

/// A change to a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Write this text.
    Write(String),
    /// Delete the file.
    Delete,
}

/// A parsed patch.
#[derive(Debug)]
pub(crate) struct Patch<'a> {
    diff: diffy::Patch<'a, str>,
    /// Set if it creates a file.
    pub(crate) is_new: bool,
    is_deletion: bool,
}

impl<'a> Patch<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, Error> {
        let diff = diffy::Patch::from_str(text)
            .map_err(|error| Error::Patch(format!("the patch is not a unified diff of one file: {error}")))?;
        if diff.hunks().is_empty() {
            return Err(Error::Patch("the patch has no hunk; a hunk starts with an @@ line".to_owned()));
        }
        let is_dev_null = |name: Option<&str>| name == Some("/dev/null");
        Ok(Self { is_new: is_dev_null(diff.original()), is_deletion: is_dev_null(diff.modified()), diff })
    }

    pub(crate) fn apply(&self, path: &str, before: &str) -> Result<Change, Error> {
        let after = diffy::apply(before, &self.diff)
            .map_err(|_| Error::Patch(format!("the patch does not apply to {path}; read the file again")))?;
        if self.is_deletion {
            return Ok(Change::Delete);
        }
        if after.len() as u64 > MAX_FILE_BYTES {
            return Err(Error::Patch(format!("{path} would be larger than {MAX_FILE_BYTES} bytes")));
        }
        Ok(Change::Write(after))
    }
}
