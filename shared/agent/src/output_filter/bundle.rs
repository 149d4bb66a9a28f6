//! File bundles without a fence.
//!
//! A bundle is a JSON object at the start of a line, outside of fences. Its first member is `Files`: a list of one or
//! more objects with `Path` and `Contents`. Text that starts like one is held back until it is decided, at its last
//! brace at the latest. Most other JSON is excluded by the name of its first member.

use std::borrow::Cow;

use serde::Deserialize;

/// The fence that marks a bundle for clients.
const FENCE: &str = "```aptix-json";

/// The start of every bundle, except for blanks after the brace and the case of the F.
const HEAD: &[u8] = b"{\"files\"";

/// Maximum size of a bundle, in bytes. A longer object stays as it is, because it would be held back for too long.
pub(super) const MAX_BUNDLE_BYTES: usize = 1 << 20;

/// Maximum depth of a bundle. A deeper object stays as it is.
const MAX_DEPTH: usize = 32;

/// An object that may be a bundle.
#[derive(Debug, Default)]
pub(super) struct Bundle {
    bytes: usize,
    /// Number of bytes of [`HEAD`] matched so far.
    head_matched: usize,
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

/// The state of a possible bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BundleStatus {
    /// It may be a bundle.
    Pending,
    /// The object ends with this character.
    Complete,
    /// It is not a bundle.
    NotBundle,
}

impl Bundle {
    /// Takes the next character, from the first brace on.
    pub(super) fn take(&mut self, c: char) -> BundleStatus {
        self.bytes += c.len_utf8();
        if self.bytes > MAX_BUNDLE_BYTES {
            return BundleStatus::NotBundle;
        }
        if let Some(expected) = HEAD.get(self.head_matched) {
            let is_blank = self.head_matched == 1 && matches!(c, ' ' | '\t' | '\r' | '\n');
            let matches =
                c.to_ascii_lowercase() == char::from(*expected) && (c != 'F' || self.head_matched == 2);
            self.head_matched += usize::from(matches);
            self.depth = 1;
            return if is_blank || matches { BundleStatus::Pending } else { BundleStatus::NotBundle };
        }
        match c {
            _ if self.is_escaped => self.is_escaped = false,
            '\\' if self.in_string => self.is_escaped = true,
            '"' => self.in_string = !self.in_string,
            // Parsing the complete object finds all other syntax errors.
            '\n' if self.in_string => return BundleStatus::NotBundle,
            _ if self.in_string => {}
            '{' | '[' if self.depth == MAX_DEPTH => return BundleStatus::NotBundle,
            '{' | '[' => self.depth += 1,
            '}' | ']' => {
                self.depth -= 1;
                if self.depth == 0 {
                    return BundleStatus::Complete;
                }
            }
            _ => {}
        }
        BundleStatus::Pending
    }
}

/// Returns the object in a fence if it is a bundle.
pub(super) fn fence_if_bundle(object: &str) -> Option<String> {
    let bundle: FileBundle<'_> = serde_json::from_str(object).ok()?;
    // No line of it can close the fence: JSON strings have no line breaks, and there are no backticks outside of
    // strings.
    bundle.is_valid().then(|| format!("{FENCE}\n{object}\n```"))
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
    fn is_valid(&self) -> bool {
        !self.files.is_empty() && self.files.iter().all(|file| !file.path.trim().is_empty())
    }
}
