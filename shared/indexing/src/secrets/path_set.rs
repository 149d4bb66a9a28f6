//! Sets of paths, written like lines of a `.gitignore` file.

pub use ignore::Error as InvalidPattern;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Returns the set of paths that these lines of a `.gitignore` file match, in any case.
pub(super) fn path_set<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Gitignore, InvalidPattern> {
    let mut builder = GitignoreBuilder::new("");
    builder.case_insensitive(true)?;
    for pattern in patterns {
        builder.add_line(None, pattern)?;
    }
    builder.build()
}

/// Files that are indexed even if they may hold a secret.
#[derive(Debug, Clone)]
pub struct AllowedSecrets(Gitignore);

impl AllowedSecrets {
    /// Allows the paths below the folder that match a pattern, written like a line of a `.gitignore` file.
    ///
    /// # Errors
    /// Returns the first invalid pattern's error.
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidPattern> {
        path_set(patterns).map(Self)
    }

    /// Returns true if the file or a folder above it is allowed.
    #[must_use]
    pub fn contains(&self, path: &str) -> bool {
        self.0.matched_path_or_any_parents(path, false).is_ignore()
    }
}

impl Default for AllowedSecrets {
    fn default() -> Self {
        Self(Gitignore::empty())
    }
}
