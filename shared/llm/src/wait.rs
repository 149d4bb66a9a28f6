//! How the client waits before it asks again: by the real timer, or by a test's, which need not wait.

use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tokio::time::Instant;

/// Time and chance, as far as asking again depends on them.
pub trait Wait: Send + Sync {
    /// A clock that never jumps.
    fn now(&self) -> Instant;
    /// Waits.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send;
    /// From 0 to 1, different each time.
    fn chance(&self) -> f64;
}

/// Real time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Real;

impl Wait for Real {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(duration)
    }

    /// Waits need no better source than the hasher's keys, so it costs no dependency.
    fn chance(&self) -> f64 {
        let drawn = RandomState::new().hash_one(()) >> 32;
        f64::from(u32::try_from(drawn).unwrap_or_default()) / f64::from(u32::MAX)
    }
}
