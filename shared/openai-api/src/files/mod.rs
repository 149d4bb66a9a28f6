//! Uploaded files, which messages name by id.

mod id;
mod list;
mod upload;

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;

pub use id::{FILE_PREFIX, FileId, Purpose};
pub use list::FileQuery;
pub use upload::FileUpload;

/// The most bytes of a file, and of the files that a request names. In base64, as a turn has them, they leave room for
/// the text within 4 MiB.
pub const MAX_FILE_BYTES: usize = 3_000_000;

/// The most files of a user.
pub const MAX_FILES: usize = 100;

/// The most files that a request may name.
pub const MAX_FILES_OF_REQUEST: usize = 16;

/// The content of an uploaded file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileContent {
    /// The media type.
    pub media_type: String,
    /// The bytes.
    pub bytes: Bytes,
}

/// Returns the time as objects show it, in seconds.
#[must_use]
pub fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
