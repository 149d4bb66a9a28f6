//! Versions of stored data. This code reads older versions and rejects newer ones.

/// Error for stored data whose version is newer than this code supports: a newer deployment wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unsupported version {found}: this code reads versions up to {supported}")]
pub struct UnsupportedVersion {
    /// The version of the stored data.
    pub found: u32,
    /// The newest version that this code reads.
    pub supported: u32,
}

impl UnsupportedVersion {
    /// Checks that a version is not newer than the newest supported one.
    ///
    /// # Errors
    /// Returns an error if it is newer.
    pub fn check(found: u32, known: u32) -> Result<(), Self> {
        if found > known { Err(Self { found, supported: known }) } else { Ok(()) }
    }
}
