//! Free space of the disk that holds the data folder.
//!
//! With a full disk every write fails, and the functions repeat theirs for half a minute. So requests that write are
//! refused before, and the terminal of the local cloud says why.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Watches the disk of a folder.
#[derive(Debug, Clone)]
pub(crate) struct DiskSpace {
    folder: PathBuf,
    min_free_bytes: u64,
    was_full: Arc<AtomicBool>,
}

impl DiskSpace {
    /// Watches this folder's disk. It counts as full below `min_free_bytes`.
    pub(crate) fn new(folder: PathBuf, min_free_bytes: u64) -> Self {
        Self { folder, min_free_bytes, was_full: Arc::default() }
    }

    /// Returns the message for a full disk, or none while there is space. The terminal shows the message when the disk
    /// becomes full.
    pub(crate) fn shortage(&self) -> Option<String> {
        let is_full = self.free_bytes().is_some_and(|free| free < self.min_free_bytes);
        let was_full = self.was_full.swap(is_full, Ordering::Relaxed);
        if !is_full {
            return None;
        }
        let folder = self.folder.display();
        let message =
            format!("The local cloud's disk is full. Free space for {folder}, then send the request again.");
        if !was_full {
            let _ = writeln!(std::io::stderr().lock(), "{message}");
        }
        Some(message)
    }

    /// Returns the space that is left to this user, or `None` if it can't be determined.
    #[cfg(unix)]
    #[allow(clippy::useless_conversion, reason = "the types differ between systems")]
    fn free_bytes(&self) -> Option<u64> {
        let disk = nix::sys::statvfs::statvfs(&self.folder).ok()?;
        Some(u64::from(disk.blocks_available()).saturating_mul(u64::from(disk.fragment_size())))
    }

    #[cfg(not(unix))]
    fn free_bytes(&self) -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn disk_is_full_below_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let disk = |min| DiskSpace::new(folder.path().to_owned(), min);
        assert_eq!(disk(0).shortage(), None);
        let message = disk(u64::MAX).shortage().unwrap();
        assert!(message.contains("disk is full") && message.contains(&*folder.path().to_string_lossy()));
        assert_eq!(DiskSpace::new(folder.path().join("none"), u64::MAX).shortage(), None);
    }
}
