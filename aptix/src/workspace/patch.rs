//! A unified diff of one file.

use super::{Error, LARGEST_FILE};

/// What becomes of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It holds this.
    Written(String),
    /// It goes.
    Deleted,
}

/// A patch that could be read.
#[derive(Debug)]
pub(crate) struct Patch<'a> {
    diff: diffy::Patch<'a, str>,
    /// It makes a file that is not there.
    pub(crate) is_new: bool,
    is_deletion: bool,
}

impl<'a> Patch<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, Error> {
        let diff = diffy::Patch::from_str(text)
            .map_err(|error| Error::Patch(format!("the patch is no unified diff of one file: {error}")))?;
        if diff.hunks().is_empty() {
            return Err(Error::Patch("the patch has no hunk: it begins with an @@ line".to_owned()));
        }
        let is = |name: Option<&str>| name == Some("/dev/null");
        Ok(Self { is_new: is(diff.original()), is_deletion: is(diff.modified()), diff })
    }

    pub(crate) fn applied(&self, path: &str, before: &str) -> Result<Change, Error> {
        let after = diffy::apply(before, &self.diff)
            .map_err(|_| Error::Patch(format!("{path} is not what the patch was made for: read it again")))?;
        if self.is_deletion {
            return Ok(Change::Deleted);
        }
        if after.len() as u64 > LARGEST_FILE {
            return Err(Error::Patch(format!("{path} would be larger than {LARGEST_FILE} bytes")));
        }
        Ok(Change::Written(after))
    }
}
