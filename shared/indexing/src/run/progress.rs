//! Progress of a run.

/// Progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The folder was compared with the database.
    Compared {
        /// The number of files to index.
        files: usize,
        /// Their size in bytes.
        bytes: u64,
    },
    /// A file has no chunks to store.
    Skipped {
        /// Its size in bytes.
        bytes: u64,
    },
    /// Chunks were stored.
    Stored {
        /// The number of chunks.
        chunks: usize,
        /// Their share of the bytes to index.
        bytes: u64,
    },
}
