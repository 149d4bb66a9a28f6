//! File bundles that came without a fence (AGN-033 §4.1).
//!
//! A bundle is a JSON object at the very beginning of a line, outside of every fence, whose first member is
//! `Files`: a list of one or more objects with `Path` and `Contents`. Anything that begins so is held back
//! until it turns out to be one or not, at its last brace at the latest. Most other JSON is told apart by
//! its first member's name.

use std::borrow::Cow;

use serde::Deserialize;

/// What a client knows a bundle by.
const FENCE: &str = "```aptix-json";

/// What every bundle begins with, but for blanks after the brace and the case of the F.
const HEAD: &[u8] = b"{\"files\"";

/// A longer object passes as it is: it would be held back for too long.
pub(super) const MAX_BUNDLE_BYTES: usize = 1 << 20;

/// A deeper object passes as it is.
const MAX_DEPTH: usize = 32;

/// An object that may turn out to be a bundle.
#[derive(Debug, Default)]
pub(super) struct Bundle {
    bytes: usize,
    /// How much of the head was read.
    head: usize,
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

/// What is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It may be one.
    Open,
    /// It is over with this character.
    Closed,
    /// It is none.
    Other,
}

impl Bundle {
    /// Takes the next character, from the first brace on.
    pub(super) fn take(&mut self, c: char) -> Fate {
        self.bytes += c.len_utf8();
        if self.bytes > MAX_BUNDLE_BYTES {
            return Fate::Other;
        }
        if let Some(expected) = HEAD.get(self.head) {
            let is_blank = self.head == 1 && matches!(c, ' ' | '\t' | '\r' | '\n');
            let fits = c.to_ascii_lowercase() == char::from(*expected) && (c != 'F' || self.head == 2);
            self.head += usize::from(fits);
            self.depth = 1;
            return if is_blank || fits { Fate::Open } else { Fate::Other };
        }
        match c {
            _ if self.is_escaped => self.is_escaped = false,
            '\\' if self.in_string => self.is_escaped = true,
            '"' => self.in_string = !self.in_string,
            // Whatever else may not stand in a string or beside one is found when the object is read.
            '\n' if self.in_string => return Fate::Other,
            _ if self.in_string => {}
            '{' | '[' if self.depth == MAX_DEPTH => return Fate::Other,
            '{' | '[' => self.depth += 1,
            '}' | ']' => {
                self.depth -= 1;
                if self.depth == 0 {
                    return Fate::Closed;
                }
            }
            _ => {}
        }
        Fate::Open
    }
}

/// The object in a fence, if it is a bundle.
pub(super) fn fenced(object: &str) -> Option<String> {
    let bundle: FileBundle<'_> = serde_json::from_str(object).ok()?;
    // No line of it can close the fence: strings have no line ends, and there are no marks beside them.
    bundle.is_one().then(|| format!("{FENCE}\n{object}\n```"))
}

#[derive(Deserialize)]
struct FileBundle<'a> {
    #[serde(rename = "Files", alias = "files", borrow)]
    files: Vec<BundledFile<'a>>,
}

#[derive(Deserialize)]
struct BundledFile<'a> {
    #[serde(rename = "Path", alias = "path", alias = "RelativePath", alias = "relativePath", borrow)]
    path: Cow<'a, str>,
    #[serde(rename = "Contents", alias = "contents", borrow)]
    _contents: Cow<'a, str>,
}

impl FileBundle<'_> {
    fn is_one(&self) -> bool {
        !self.files.is_empty() && self.files.iter().all(|file| !file.path.trim().is_empty())
    }
}
