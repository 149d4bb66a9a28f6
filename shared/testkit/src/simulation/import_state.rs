//! The state of a run's imports.

use std::collections::BTreeMap;

use turns::ports::ArchivedSession;

use crate::schedule::ProcessId;

/// The imports of a run.
#[derive(Debug, Default)]
pub(super) struct Imports {
    pub(super) copy: Option<ArchivedSession>,
    pub(super) sender_of: BTreeMap<ProcessId, usize>,
    pub(super) tries: [u32; 2],
    pub(super) is_continued: bool,
    /// The refusals that claim a purge, of which there is none.
    pub(super) false_refusals: u64,
}

impl Imports {
    /// Returns the processes at work, and forgets them.
    pub(super) fn take_processes(&mut self) -> Vec<ProcessId> {
        std::mem::take(&mut self.sender_of).into_keys().collect()
    }
}
