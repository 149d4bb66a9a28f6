//! Records the events for functions as files, to inspect them and to send them again.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

use crate::function::Function;
use crate::private_file;

/// A folder of events.
#[derive(Debug)]
pub(crate) struct Recording {
    folder: PathBuf,
    next: AtomicU32,
}

impl Recording {
    /// Creates a recording into this folder, which is created if it does not exist.
    pub(crate) fn new(folder: PathBuf) -> std::io::Result<Self> {
        private_file::create_folder(&folder)?;
        Ok(Self { folder, next: AtomicU32::new(1) })
    }

    /// Writes an event to a file. A failed write does not fail the invocation.
    pub(crate) fn record(&self, function: Function, event: &[u8]) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let event: Value = serde_json::from_slice(event).unwrap_or_default();
        let file = self.folder.join(format!("{number:04}-{}.json", function.name()));
        let _ = private_file::write(&file, format!("{event:#}\n"));
    }
}
