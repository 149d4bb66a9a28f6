//! What changed: the files of the folder against what the database has of them.

use std::collections::{BTreeMap, BTreeSet};

use contracts::hash::ContentHash;

use super::known::Expected;
use crate::walk::{Found, Rules, Skip, read};

/// A file that is to be indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) found: Found,
    pub(super) bytes: u64,
}

/// The folder against the database.
#[derive(Debug, Default)]
pub(super) struct Compared {
    pub(super) changed: Vec<Changed>,
    pub(super) unchanged: usize,
    /// Paths of which there are points and no file that is worth it.
    pub(super) gone: Vec<String>,
    pub(super) skipped: BTreeMap<Skip, Vec<String>>,
}

impl Compared {
    /// The size of what is to be indexed.
    pub(super) fn bytes(&self) -> u64 {
        self.changed.iter().map(|changed| changed.bytes).sum()
    }
}

/// Reads every file, one at a time, and keeps none.
pub(super) fn compare(found: Vec<Found>, rules: &Rules, expected: &Expected) -> Compared {
    let mut compared = Compared::default();
    let mut here = BTreeSet::new();
    for found in found {
        match read(&found, rules) {
            Err(reason) => compared.skipped.entry(reason).or_default().push(found.path),
            Ok(text) => {
                here.insert(found.path.clone());
                if expected.whole.get(&found.path) == Some(&sha256(&text)) {
                    compared.unchanged += 1;
                } else {
                    let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
                    compared.changed.push(Changed { found, bytes });
                }
            }
        }
    }
    compared.gone = expected.paths.difference(&here).cloned().collect();
    compared
}

/// SHA-256 of the whole file's bytes.
pub(super) fn sha256(text: &str) -> String {
    ContentHash::of_bytes(text.as_bytes()).to_string()
}
