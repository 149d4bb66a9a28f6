//! What is wrong with a document that an operator wrote: all of it at once, each with its place.
//!
//! A catalog or a context with three mistakes is corrected in one go, not in three deployments.

use std::fmt;

use contracts::NonEmpty;

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {what}")]
pub struct Fault {
    /// Where it is, for example `modes[1].WhenToUse`.
    pub at: String,
    /// What is wrong there.
    pub what: String,
}

/// Every mistake of a document, in document order as far as that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults(NonEmpty<Fault>);

impl Faults {
    /// A single mistake.
    #[must_use]
    pub fn one(at: impl Into<String>, what: impl fmt::Display) -> Self {
        Self(NonEmpty::one(Fault { at: at.into(), what: what.to_string() }))
    }

    /// The mistakes, at least one.
    #[must_use]
    pub fn as_slice(&self) -> &[Fault] {
        self.0.as_slice()
    }
}

/// One line per mistake.
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

/// The mistakes found so far.
#[derive(Debug, Default)]
pub(crate) struct Found(Vec<Fault>);

impl Found {
    pub(crate) fn add(&mut self, at: impl Into<String>, what: impl fmt::Display) {
        self.0.push(Fault { at: at.into(), what: what.to_string() });
    }

    /// Adds a mistake unless `fine`.
    pub(crate) fn unless(&mut self, fine: bool, at: impl Into<String>, what: impl fmt::Display) {
        if !fine {
            self.add(at, what);
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The mistakes as an error, when there are any.
    pub(crate) fn check(self) -> Result<(), Faults> {
        NonEmpty::new(self.0).map_or(Ok(()), |faults| Err(Faults(faults)))
    }
}
