//! The clock for timeouts of tools.

use std::time::Duration;

/// A monotonic clock that can wait.
pub trait Timer: Send + Sync {
    /// Returns the time since a fixed instant.
    fn monotonic(&self) -> Duration;
    /// Waits for a duration.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send;
}
