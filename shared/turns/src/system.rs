//! The real world: the system's clocks, randomness and timer.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use contracts::Timestamp;

use crate::ports::{Timer, World};
use protocol::id::Owner;

/// Time and chance as the operating system has them.
#[derive(Debug, Clone)]
pub struct System {
    started: Instant,
}

impl System {
    /// A world that begins now.
    #[must_use]
    pub fn new() -> Self {
        Self { started: Instant::now() }
    }
}

impl Default for System {
    fn default() -> Self {
        Self::new()
    }
}

impl Timer for System {
    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

impl World for System {
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
    }

    fn nonce(&self) -> Owner {
        Owner::new(uuid::Uuid::new_v4().simple().to_string())
    }

    fn jitter(&self, most: Duration) -> Duration {
        most.mul_f64(fastrand::f64())
    }
}
