//! Compares the files of the folder with the database.

use std::collections::{BTreeMap, BTreeSet};

use super::file_version::sha256;
use super::indexed_state::Baseline;
use crate::walk::{Rules, SkipReason, SourceFile, read};

/// A file to index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangedFile {
    pub(super) file: SourceFile,
    pub(super) bytes: u64,
}

/// The difference between the folder and the database.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub(super) changed: Vec<ChangedFile>,
    pub(super) unchanged: usize,
    /// Paths that have points but no indexable file.
    pub(super) removed: Vec<String>,
    pub(super) skipped: BTreeMap<SkipReason, Vec<String>>,
}

impl Comparison {
    /// Removes the paths whose files may hold a secret from those to remove, and returns them.
    pub(super) fn take_removed_secrets(&mut self) -> Vec<String> {
        let secrets = self.skipped.iter().filter(|(reason, _)| matches!(reason, SkipReason::Secret(_)));
        let secrets: BTreeSet<&String> = secrets.flat_map(|(_, paths)| paths).collect();
        self.removed.extract_if(.., |path| secrets.contains(path)).collect()
    }

    /// Returns the size of the files to index.
    pub(super) fn bytes(&self) -> u64 {
        self.changed.iter().map(|changed| changed.bytes).sum()
    }
}

/// Reads every file, one at a time, and holds none in memory.
pub(super) fn compare(files: Vec<SourceFile>, rules: &Rules, baseline: &Baseline) -> Comparison {
    let mut comparison = Comparison::default();
    let mut present = BTreeSet::new();
    for file in files {
        match read(&file, rules) {
            Err(reason) => comparison.skipped.entry(reason).or_default().push(file.path),
            Ok(text) => {
                present.insert(file.path.clone());
                if baseline.complete.get(&file.path) == Some(&sha256(&text)) {
                    comparison.unchanged += 1;
                } else {
                    let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
                    comparison.changed.push(ChangedFile { file, bytes });
                }
            }
        }
    }
    comparison.removed = baseline.paths.difference(&present).cloned().collect();
    comparison
}
