//! The machine: clocks and randomness.

use std::time::Duration;

use agent::tool::timer::Timer;
use contracts::Timestamp;
use protocol::{budget::EntryId, id::AttemptId};

/// The machine's clocks, which a simulation replaces.
pub trait Clock: Timer {
    /// The wall clock, which may jump.
    fn now(&self) -> Timestamp;
}

/// The source of randomness, which a simulation replaces.
pub trait Random: Send + Sync {
    /// Returns a new attempt id.
    fn attempt_id(&self) -> AttemptId;
    /// Returns a random duration below `limit`.
    fn jitter(&self, limit: Duration) -> Duration;
    /// Returns a random id for an entry in a meter.
    fn entry_id(&self) -> EntryId;
}
