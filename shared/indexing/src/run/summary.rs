//! What a run came to.

use std::collections::BTreeMap;
use std::time::Duration;

use super::compare::Compared;
use crate::walk::Skip;

/// What a run came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Files that were indexed.
    pub indexed: usize,
    /// Files that were there as they are.
    pub unchanged: usize,
    /// Files that were there and are gone.
    pub gone: usize,
    /// Files that were left out, by reason.
    pub skipped: BTreeMap<Skip, Vec<String>>,
    /// Chunks that were stored.
    pub chunks: usize,
    /// Points that were removed.
    pub removed: usize,
    /// Tokens used, as the provider tells.
    pub tokens: u64,
    /// Requests for embeddings of chunks.
    pub requests: usize,
    /// How long it took.
    pub took: Duration,
}

impl Summary {
    pub(super) fn of(compared: &Compared) -> Self {
        Self {
            indexed: compared.changed.len(),
            unchanged: compared.unchanged,
            gone: compared.gone.len(),
            skipped: compared.skipped.clone(),
            ..Self::default()
        }
    }

    /// Files that were left out.
    #[must_use]
    pub fn skipped_files(&self) -> usize {
        self.skipped.values().map(Vec::len).sum()
    }

    /// What the tokens cost, at so many dollars a million.
    #[must_use]
    pub fn cost(&self, dollars_per_million: f64) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "a price is shown with a few digits")]
        let tokens = self.tokens as f64;
        tokens / 1_000_000.0 * dollars_per_million
    }
}
