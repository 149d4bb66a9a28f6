//! File bundles, and other JSON that belongs into a fence of its own.
//!
//! A bundle is a JSON object with the member `Files`: a list of one or more objects with `Path` and `Contents`. It is
//! recognized anywhere in a text, and as the content of a fence. Text that starts like one is held back until it is
//! decided, at its last brace at the latest. Most text that isn't JSON is excluded by the first character after the
//! brace, or by a character that JSON has only within strings.

use std::borrow::Cow;

use serde::{Deserialize, de::IgnoredAny};

/// The language tag that marks a bundle for clients.
pub(super) const TAG: &str = "aptix-json";

/// Maximum size of a bundle, in bytes: the maximum of a model's reply. A longer object is no bundle, so its files are replaced.
pub(super) const MAX_BUNDLE_BYTES: usize = 8 << 20;

/// Maximum depth of a bundle. A deeper object is no bundle.
const MAX_DEPTH: usize = 32;

/// An object that may be a bundle.
#[derive(Debug, Default)]
pub(super) struct Bundle {
    bytes: usize,
    /// True after the first quote: an object begins with a member's name.
    has_member: bool,
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
        if self.depth == 0 {
            self.depth = 1;
            return if c == '{' { BundleStatus::Pending } else { BundleStatus::NotBundle };
        }
        if !self.has_member {
            self.has_member = c == '"';
            self.in_string = self.has_member;
            let is_blank = matches!(c, ' ' | '\t' | '\r' | '\n');
            return if self.has_member || is_blank { BundleStatus::Pending } else { BundleStatus::NotBundle };
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
            ' ' | '\t' | '\r' | '\n' | ':' | ',' | '+' | '-' | '.' | '0'..='9' | 'a'..='z' | 'E' => {}
            _ => return BundleStatus::NotBundle,
        }
        BundleStatus::Pending
    }
}

/// True if a complete object is a bundle. No line of it can close a fence: JSON strings have no line breaks, and there
/// are no backticks outside of strings.
pub(super) fn is_bundle(object: &str) -> bool {
    serde_json::from_str(object).is_ok_and(|bundle: FileBundle<'_>| bundle.is_valid())
}

/// True if a complete object is JSON.
pub(super) fn is_json(object: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(object).is_ok()
}

/// Returns an object in a fence. `prefix` continues the containers of its first line. That line was indented by `indent`
/// characters, which are removed from the others too.
pub(super) fn fenced(tag: &str, object: &str, prefix: &str, indent: usize) -> String {
    let mut fenced = format!("```{tag}");
    for line in object.split('\n') {
        let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
        fenced.extend(["\n", prefix, line.get(blanks.min(indent)..).unwrap_or_default()]);
    }
    fenced + "\n" + prefix + "```"
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
