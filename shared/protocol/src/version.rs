//! Versions of what is stored: older ones are read, newer ones are nobody's to guess at.

/// Something stored has a version that this code does not know: it was written by a newer deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it has version {found}, this code reads up to {known}")]
pub struct Newer {
    /// The version that was found.
    pub found: u32,
    /// The newest version that this code knows.
    pub known: u32,
}

impl Newer {
    /// Refuses a version beyond the newest that is known.
    ///
    /// # Errors
    /// When it is one.
    pub fn check(found: u32, known: u32) -> Result<(), Self> {
        if found > known { Err(Self { found, known }) } else { Ok(()) }
    }
}
