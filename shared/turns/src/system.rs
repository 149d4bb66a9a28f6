//! The real machine: system clocks, timer and randomness.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use contracts::Timestamp;
use protocol::{budget::EntryId, id::AttemptId};

use crate::ports::{Host, Timer};

/// The operating system's clocks, timer and randomness.
#[derive(Debug, Clone)]
pub struct System {
    started: Instant,
}

impl System {
    /// Creates a machine whose monotonic clock starts now.
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

impl Host for System {
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
    }

    fn attempt_id(&self) -> AttemptId {
        AttemptId::new(uuid::Uuid::new_v4().simple().to_string())
    }

    fn jitter(&self, limit: Duration) -> Duration {
        limit.mul_f64(fastrand::f64())
    }

    fn entry_id(&self) -> EntryId {
        EntryId(fastrand::u32(..))
    }
}
