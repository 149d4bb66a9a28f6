//! The trace of a run, as a hash and optionally as lines.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

/// The trace of a run.
#[derive(Debug)]
pub struct Trace {
    hasher: DefaultHasher,
    lines: Option<Vec<String>>,
}

impl Trace {
    pub(crate) fn new(verbose: bool) -> Self {
        Self { hasher: DefaultHasher::new(), lines: verbose.then(Vec::new) }
    }

    pub(crate) fn line(&mut self, at: Duration, line: impl FnOnce() -> String) {
        at.hash(&mut self.hasher);
        if let Some(lines) = &mut self.lines {
            lines.push(format!("{:>12.6} {}", at.as_secs_f64(), line()));
        }
    }

    /// Hashes an effect. Silent runs do so too, because their hashes must distinguish them.
    pub(crate) fn fact(&mut self, fact: impl Hash) {
        fact.hash(&mut self.hasher);
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hasher.finish()
    }

    pub(crate) fn lines(&self) -> &[String] {
        self.lines.as_deref().unwrap_or_default()
    }
}
