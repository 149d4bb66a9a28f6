//! Free space of the disk that holds the data folder.
//!
//! A full disk is reported before a request starts. Its first sign would otherwise be a failed write in the middle of
//! a turn.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Free space below which the disk counts as full, in bytes. A turn writes less.
const MIN_FREE_BYTES: u64 = 1 << 20;
/// Time between reports on the terminal.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// The disk of a data folder.
#[derive(Debug, Clone)]
pub(crate) struct DiskSpace {
    folder: PathBuf,
    last_report: Arc<Mutex<Option<Instant>>>,
}

impl DiskSpace {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), last_report: Arc::default() }
    }

    /// Returns true if the disk is full, and reports it on the terminal. A disk whose free space is unknown has some.
    pub(crate) fn is_full(&self) -> bool {
        let is_full = free_bytes(&self.folder).is_some_and(|free| free < MIN_FREE_BYTES);
        if is_full {
            self.report();
        }
        is_full
    }

    fn report(&self) {
        let mut last = self.last_report.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none_or(|last| last.elapsed() > REPORT_INTERVAL) {
            *last = Some(Instant::now());
            let folder = self.folder.display();
            // A failed write to standard error can't be reported.
            let _ = writeln!(std::io::stderr(), "error: the disk with the data folder {folder} is full");
        }
    }
}

/// Returns the free space that this user may use.
#[cfg(unix)]
fn free_bytes(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn free_space_is_that_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_bytes(folder.path()).is_some_and(|free| free > 0));
        assert_eq!(free_bytes(&folder.path().join("none")), None);
        assert!(!DiskSpace::new(&folder.path().join("none")).is_full(), "unknown");
    }
}
