//! The version of a file that the database holds.

use contracts::hash::ContentHash;

/// The version of a file that a point records.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileVersion {
    pub(super) sha256: String,
    pub(super) model: String,
    pub(super) project: Option<String>,
    pub(super) part_total: u32,
}

/// Returns the SHA-256 of the whole file's bytes.
pub(super) fn sha256(text: &str) -> String {
    ContentHash::hash_bytes(text.as_bytes()).to_string()
}
