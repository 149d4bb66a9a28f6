//! The summary of a run.

use std::collections::BTreeMap;
use std::time::Duration;

use super::compare::Comparison;
use crate::secrets::Finding;
use crate::split::Fallback;
use crate::walk::SkipReason;

/// The summary of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// The number of files indexed.
    pub indexed: usize,
    /// The number of unchanged files.
    pub unchanged: usize,
    /// The number of files removed since the last run.
    pub removed_files: usize,
    /// The skipped files by reason.
    pub skipped: BTreeMap<SkipReason, Vec<String>>,
    /// The programs that were split by lines, by reason.
    pub fallbacks: BTreeMap<Fallback, Vec<String>>,
    /// The number of chunks stored.
    pub chunks: usize,
    /// The number of points deleted.
    pub removed_points: usize,
    /// The number of tokens used, as the provider reports, or the estimate of a dry run.
    pub tokens: u64,
    /// The number of embedding requests.
    pub requests: usize,
    /// The duration of the run.
    pub elapsed: Duration,
}

impl Summary {
    pub(super) fn from_comparison(comparison: &Comparison) -> Self {
        Self {
            indexed: comparison.changed.len(),
            unchanged: comparison.unchanged,
            removed_files: comparison.removed.len(),
            skipped: comparison.skipped.clone(),
            ..Self::default()
        }
    }

    /// Moves a file from the indexed ones to the skipped ones.
    pub(super) fn skip(&mut self, path: &str, reason: SkipReason) {
        self.indexed = self.indexed.saturating_sub(1);
        self.skipped.entry(reason).or_default().push(path.to_owned());
    }

    /// Records that a program was split by lines, if there is a reason.
    pub(super) fn record_fallback(&mut self, path: &str, reason: Option<Fallback>) {
        if let Some(reason) = reason {
            self.fallbacks.entry(reason).or_default().push(path.to_owned());
        }
    }

    /// Returns the skipped files that may hold a secret, with the rule that each one matches.
    pub fn secrets(&self) -> impl Iterator<Item = (&str, Finding)> {
        self.skipped.iter().flat_map(|(reason, paths)| {
            let finding = if let SkipReason::Secret(finding) = reason { Some(*finding) } else { None };
            paths.iter().filter_map(move |path| Some((path.as_str(), finding?)))
        })
    }

    /// Returns the number of skipped files.
    #[must_use]
    pub fn skipped_files(&self) -> usize {
        self.skipped.values().map(Vec::len).sum()
    }

    /// Returns the cost of the tokens in dollars.
    #[must_use]
    pub fn cost(&self, dollars_per_million: f64) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "a price is shown with a few digits")]
        let tokens = self.tokens as f64;
        tokens / 1_000_000.0 * dollars_per_million
    }
}
