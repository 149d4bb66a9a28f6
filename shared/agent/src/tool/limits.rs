//! Limits of a reply's calls.

use std::{num::NonZeroUsize, time::Duration};

/// Limits for one reply's calls (I13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The number of calls that run concurrently.
    pub parallel: NonZeroUsize,
    /// The maximum number of calls of one reply; those after them fail.
    pub calls: usize,
    /// The timeout of one call.
    pub timeout: Duration,
    /// The maximum size of its arguments.
    pub argument_bytes: usize,
    /// The maximum size of its result as JSON text.
    pub result_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            parallel: NonZeroUsize::MIN.saturating_add(3),
            calls: 64,
            timeout: Duration::from_secs(30),
            argument_bytes: 2 * 1024 * 1024,
            result_bytes: 256 * 1024,
        }
    }
}

impl Limits {
    /// Returns these limits with the timeout capped at the turn's remaining time.
    #[must_use]
    pub fn capped_at(self, left: Duration) -> Self {
        Self { timeout: self.timeout.min(left), ..self }
    }
}
