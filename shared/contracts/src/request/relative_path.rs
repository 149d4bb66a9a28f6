//! Relative paths and file names that a client may send.
//!
//! A path is a label for reasoning and display. No code may open a file by it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::limits::{MAX_FILE_NAME_CHARS, MAX_PATH_CHARS};

/// The reason why a string is not a relative path or a file name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPath {
    /// The string is empty.
    #[error("must name a file, it is empty")]
    Empty,
    /// The string is longer than the limit.
    #[error("has too many characters, at most {0} are allowed")]
    TooLong(usize),
    /// The string holds NUL or another control character.
    #[error("must not contain NUL or other control characters")]
    Control,
    /// A leading slash or backslash: a root, or a UNC share.
    #[error("must be relative, it starts with a slash")]
    Rooted,
    /// A drive, a URL, or the home folder.
    #[error("must be relative, it starts with a drive, a scheme or the home folder")]
    Drive,
    /// `..`, or a segment that Windows reads as one.
    #[error("must not leave its folder, it has a segment of dots or blanks alone")]
    Parent,
    /// A trailing slash.
    #[error("must name a file, it ends with a slash")]
    Folder,
    /// A slash within a file name.
    #[error("must be a bare name, without slashes")]
    Slash,
}

/// A path relative to the folder that is open in the client, normalized: forward slashes, no `.` segments, no
/// doubled slashes. So `src\a.rs`, `./src/a.rs` and `src/a.rs` are equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RelativePath(String);

impl RelativePath {
    /// Validates and normalizes a path.
    ///
    /// # Errors
    /// If the path is absolute on any system, leaves its folder, or names no file.
    pub fn new(path: &str) -> Result<Self, InvalidPath> {
        check_text(path, MAX_PATH_CHARS)?;
        if path.starts_with(SLASHES) {
            return Err(InvalidPath::Rooted);
        }
        if has_drive(path) || has_scheme(path) || is_home(path) {
            return Err(InvalidPath::Drive);
        }
        if path.ends_with(SLASHES) {
            return Err(InvalidPath::Folder);
        }
        let mut segments = Vec::new();
        for segment in path.split(SLASHES).filter(|s| !matches!(*s, "" | ".")) {
            if is_dots(segment) {
                return Err(InvalidPath::Parent);
            }
            segments.push(segment);
        }
        if segments.is_empty() {
            return Err(InvalidPath::Empty);
        }
        Ok(Self(segments.join("/")))
    }

    /// The last part of the path: the file's name.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// The path, with forward slashes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RelativePath {
    type Error = InvalidPath;
    fn try_from(path: String) -> Result<Self, InvalidPath> {
        Self::new(&path)
    }
}

impl From<RelativePath> for String {
    fn from(path: RelativePath) -> Self {
        path.0
    }
}

impl fmt::Display for RelativePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A bare file name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FileName(String);

impl FileName {
    /// Validates a name.
    ///
    /// # Errors
    /// If the name is empty, is a path, or names a folder.
    pub fn new(name: &str) -> Result<Self, InvalidPath> {
        check_text(name, MAX_FILE_NAME_CHARS)?;
        if name.contains(SLASHES) {
            return Err(InvalidPath::Slash);
        }
        if has_drive(name) {
            return Err(InvalidPath::Drive);
        }
        if is_dots(name) {
            return Err(InvalidPath::Parent);
        }
        Ok(Self(name.to_owned()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for FileName {
    type Error = InvalidPath;
    fn try_from(name: String) -> Result<Self, InvalidPath> {
        Self::new(&name)
    }
}

impl From<FileName> for String {
    fn from(name: FileName) -> Self {
        name.0
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

const SLASHES: [char; 2] = ['/', '\\'];

fn check_text(text: &str, max_chars: usize) -> Result<(), InvalidPath> {
    if text.trim().is_empty() {
        return Err(InvalidPath::Empty);
    }
    if text.chars().count() > max_chars {
        return Err(InvalidPath::TooLong(max_chars));
    }
    if text.chars().any(char::is_control) {
        return Err(InvalidPath::Control);
    }
    Ok(())
}

/// True for `C:`, also without a slash after it: that is relative to the current folder of another drive.
fn has_drive(path: &str) -> bool {
    let mut chars = path.chars();
    matches!((chars.next(), chars.next()), (Some(letter), Some(':')) if letter.is_ascii_alphabetic())
}

fn has_scheme(path: &str) -> bool {
    path.split_once(':').is_some_and(|(scheme, rest)| rest.starts_with(SLASHES) && !scheme.contains(SLASHES))
}

fn is_home(path: &str) -> bool {
    path.strip_prefix('~').is_some_and(|rest| rest.is_empty() || rest.starts_with(SLASHES))
}

/// True for `..` and what Windows reads as such. It ignores dots and blanks at the end of a segment.
fn is_dots(segment: &str) -> bool {
    segment.trim_end_matches(['.', ' ']).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_path_normalize() {
        for path in ["src/a.rs", r"src\a.rs", "./src/a.rs", "src//a.rs", r".\src\.\a.rs"] {
            assert_eq!(RelativePath::new(path).unwrap().as_str(), "src/a.rs", "{path}");
        }
    }

    #[test]
    fn ordinary_names_accepted() {
        for path in [".gitignore", "a..b", "...a", "file~", "~a/b", "a b/c", "c", "é/ü.txt", "ab:c", "x/C:"]
        {
            assert!(RelativePath::new(path).is_ok(), "{path}");
        }
    }

    #[test]
    fn absolute_paths_rejected() {
        use InvalidPath::{Drive, Rooted};
        for (path, why) in [
            ("/etc/passwd", Rooted),
            (r"\\server\share\x", Rooted),
            ("//server/share", Rooted),
            (r"\\?\C:\x", Rooted),
            (r"\x", Rooted),
            (r"C:\x", Drive),
            ("c:/x", Drive),
            ("C:x", Drive),
            ("file:///x", Drive),
            (r"vscode:\\x", Drive),
            ("~", Drive),
            ("~/x", Drive),
            (r"~\x", Drive),
        ] {
            assert_eq!(RelativePath::new(path), Err(why), "{path}");
        }
    }

    #[test]
    fn escaping_and_folder_paths_rejected() {
        use InvalidPath::{Control, Empty, Folder, Parent, TooLong};
        for (path, why) in [
            ("..", Parent),
            ("a/../b", Parent),
            (r"a\..\b", Parent),
            (r"a/..\b", Parent),
            ("a/.. /b", Parent),
            ("a/.../b", Parent),
            ("a/ /b", Parent),
            ("", Empty),
            (" ", Empty),
            (".", Empty),
            ("./.", Empty),
            ("a/", Folder),
            (r"a\", Folder),
            ("a\0b", Control),
            ("a\nb", Control),
            (&"a".repeat(MAX_PATH_CHARS + 1), TooLong(MAX_PATH_CHARS)),
        ] {
            assert_eq!(RelativePath::new(path), Err(why), "{path}");
        }
    }

    #[test]
    fn file_names_with_slashes_rejected() {
        for name in ["a/b", r"a\b", "", "..", ".", "C:", "a\0"] {
            assert!(FileName::new(name).is_err(), "{name}");
        }
        assert_eq!(FileName::new("Program.cs").unwrap().as_str(), "Program.cs");
    }
}
