//! The clock and the jitter source of retries. Tests replace them and don't wait.

use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tokio::time::Instant;

/// The time and randomness that retries depend on.
pub trait Clock: Send + Sync {
    /// The current time of a monotonic clock.
    fn now(&self) -> Instant;
    /// Waits for `duration`.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send;
    /// A random number from 0 to 1.
    fn jitter(&self) -> f64;
}

/// The system clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(duration)
    }

    /// Uses the random keys of the standard hasher: good enough for delays, and no dependency.
    fn jitter(&self) -> f64 {
        let random = RandomState::new().hash_one(()) >> 32;
        f64::from(u32::try_from(random).unwrap_or_default()) / f64::from(u32::MAX)
    }
}
