//! The errors of adapters.

use protocol::version::UnsupportedVersion;

/// An adapter's error, kept as a source for the log.
pub type Source = Box<dyn std::error::Error + Send + Sync>;

/// A failed read or write about which nothing more is known.
#[derive(Debug, thiserror::Error)]
#[error("{what} is unavailable")]
pub struct Unavailable {
    /// The name of the resource.
    pub what: &'static str,
    /// The underlying error.
    #[source]
    pub source: Source,
}

impl Unavailable {
    /// Creates the error for stored data that can't be read. Logs data from a newer deployment here, because callers
    /// may continue without it. The log line triggers an alarm.
    pub fn unreadable(what: &'static str, source: impl Into<Source>) -> Self {
        let unreadable = Self { what, source: source.into() };
        if let Some(UnsupportedVersion { found, supported: known }) = unreadable.newer() {
            tracing::error!(what, found, known, "{}", contracts::log::DATA_TOO_NEW);
        }
        unreadable
    }

    /// Returns the version if a newer deployment wrote the data. Retrying doesn't help then.
    #[must_use]
    pub fn newer(&self) -> Option<UnsupportedVersion> {
        let first: &(dyn std::error::Error + 'static) = self.source.as_ref();
        let mut causes = std::iter::successors(Some(first), |cause| cause.source());
        causes.find_map(|cause| cause.downcast_ref().copied())
    }

    /// True if the store answered, and the data does not exist. Retrying doesn't help.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.source.is::<MissingObject>()
    }
}

/// A committed turn names an object that is missing (I10).
#[derive(Debug, thiserror::Error)]
#[error("a committed turn names an object that is missing")]
pub struct MissingObject;

/// The reason that a conditional write failed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The condition didn't hold. An earlier try of the same write may have changed it (I11).
    #[error("the write condition failed")]
    ConditionFailed,
    /// Throttled, or in conflict with another transaction. Nothing was written, so it can be retried.
    #[error("the write conflicted with another one")]
    Contended,
    /// It is unknown whether the write was applied.
    #[error("the write may or may not have been applied")]
    Unknown(#[source] Source),
}

/// The reason that a list couldn't be read.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The page token isn't from this list.
    #[error("the continuation token is not valid")]
    InvalidToken,
    /// The table can't be reached.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}
