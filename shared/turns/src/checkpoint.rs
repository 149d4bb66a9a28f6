//! What of a stream is durable while its turn runs.

use protocol::place::Place;
use std::time::Duration;

use contracts::{Timestamp, stream::ResetReason};

use protocol::id::TurnKey;

/// How often a checkpoint is written at most; a turn that is shorter writes none.
pub const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);

/// How long a checkpoint is kept: longer than any turn runs. Afterwards the stored response tells all.
pub const CHECKPOINT_LIFE: Duration = Duration::from_secs(60 * 60);

/// The most text in one checkpoint: what is left waits for the next.
pub const MAX_CHECKPOINT_BYTES: usize = 64 * 1024;

/// Text of a running turn's stream, so that another connection can go on with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which turn.
    pub key: TurnKey,
    /// Where the text ends.
    pub ends: Place,
    /// How many UTF-16 code units of the segment come before the text.
    pub index: u64,
    /// The text.
    pub text: String,
    /// Why its segment began, where that was by a reset.
    pub reset: Option<ResetReason>,
    /// When it may be forgotten.
    pub expires: Timestamp,
}

impl Checkpoint {
    /// Where the text begins.
    #[must_use]
    pub fn begins(&self) -> Place {
        Place { segment: self.ends.segment, offset: self.ends.offset.saturating_sub(self.text.len()) }
    }
}
