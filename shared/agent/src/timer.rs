//! How long a tool may take needs something to measure by.

use std::time::Duration;

/// A clock that never jumps, and waits.
pub trait Timer: Send + Sync {
    /// The time since some fixed instant.
    fn monotonic(&self) -> Duration;
    /// Waits.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send;
}
