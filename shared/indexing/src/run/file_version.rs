//! The version of a file that the database holds.

use crate::split::ChunkLength;

/// The version of the splitter. A change of how files are split or their terms are made raises it, so that the next run
/// indexes every file again.
const SPLITTER_VERSION: u32 = 2;

/// Returns the splitter's version and chunk length, as points record them.
pub(super) fn splitter(length: ChunkLength) -> String {
    format!("{SPLITTER_VERSION}:{length}")
}

/// The version of a file that a point records.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileVersion {
    /// The SHA-256 of the whole file.
    pub(super) sha256: String,
    pub(super) model: String,
    pub(super) project: Option<String>,
    pub(super) part_total: u32,
    pub(super) splitter: String,
}
