//! Faults of a document that an operator wrote, all at once and each with its path.
//!
//! An operator corrects a catalog or a context with three faults in one deployment, not in three.

use std::fmt;

use contracts::NonEmpty;

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct Fault {
    /// Path of the value, for example `modes[1].WhenToUse`.
    pub path: String,
    /// The problem and, where it isn't obvious, the fix.
    pub message: String,
}

/// Every fault of a document, in document order as far as that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults(NonEmpty<Fault>);

impl Faults {
    /// Creates a list with a single fault.
    #[must_use]
    pub fn single(path: impl Into<String>, message: impl fmt::Display) -> Self {
        Self(NonEmpty::one(Fault { path: path.into(), message: message.to_string() }))
    }

    /// Creates a list. `None` without faults.
    #[must_use]
    pub fn new(faults: Vec<Fault>) -> Option<Self> {
        NonEmpty::new(faults).ok().map(Self)
    }

    /// Returns the faults, at least one.
    #[must_use]
    pub fn as_slice(&self) -> &[Fault] {
        self.0.as_slice()
    }
}

/// Formats one fault per line.
impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, fault) in self.0.iter().enumerate() {
            if n > 0 {
                f.write_str("\n")?;
            }
            fault.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}

/// Collects faults during a check.
#[derive(Debug, Default)]
pub(crate) struct FaultCollector(Vec<Fault>);

impl FaultCollector {
    pub(crate) fn add(&mut self, path: impl Into<String>, message: impl fmt::Display) {
        self.0.push(Fault { path: path.into(), message: message.to_string() });
    }

    /// Adds a fault unless `condition` holds.
    pub(crate) fn require(&mut self, condition: bool, path: impl Into<String>, message: impl fmt::Display) {
        if !condition {
            self.add(path, message);
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns an error with the faults, if there are any.
    pub(crate) fn finish(self) -> Result<(), Faults> {
        NonEmpty::new(self.0).map_or(Ok(()), |faults| Err(Faults(faults)))
    }
}
