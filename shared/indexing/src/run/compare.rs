//! Compares the files of the folder with the database.

use std::collections::{BTreeMap, BTreeSet};

use super::indexed_state::Baseline;
use crate::walk::{Rules, SkipReason, SourceFile, Walk, read};

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

    /// Returns true if the folder has no file to index, changed or not.
    pub(super) fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.unchanged == 0
    }

    /// Returns the size of the files to index.
    pub(super) fn bytes(&self) -> u64 {
        self.changed.iter().map(|changed| changed.bytes).sum()
    }
}

/// Reads every file, one at a time, and holds none in memory.
pub(super) fn compare(Walk { files, skipped }: Walk, rules: &Rules, baseline: &Baseline) -> Comparison {
    let mut comparison = Comparison::default();
    for (reason, path) in skipped {
        comparison.skipped.entry(reason).or_default().push(path);
    }
    let mut present = BTreeSet::new();
    for file in files {
        match read(&file, rules) {
            Err(reason) => comparison.skipped.entry(reason).or_default().push(file.path),
            Ok(content) => {
                present.insert(file.path.clone());
                if baseline.complete.get(&file.path) == Some(&content.sha256()) {
                    comparison.unchanged += 1;
                } else {
                    comparison.changed.push(ChangedFile { file, bytes: content.size() });
                }
            }
        }
    }
    comparison.removed = baseline.paths.difference(&present).cloned().collect();
    comparison
}
