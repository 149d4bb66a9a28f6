//! Checkpoints: the durable part of a stream while its turn runs.

use protocol::stream_position::StreamPosition;
use std::time::Duration;

use contracts::{Timestamp, stream::ResetReason};

use protocol::{id::TurnKey, spent::Spent};

/// The shortest interval between checkpoints. A shorter turn writes none.
pub const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(1);

/// The lifetime of a checkpoint, which is longer than any turn. Afterwards the stored response is complete.
pub const CHECKPOINT_TTL: Duration = Duration::from_secs(60 * 60);

/// The most text in one checkpoint, in bytes. More text waits for the next one.
pub const MAX_CHECKPOINT_BYTES: usize = 64 * 1024;

/// Text of a running turn's stream, from which another connection can resume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The turn.
    pub key: TurnKey,
    /// The position at which the text ends.
    pub end: StreamPosition,
    /// The number of UTF-16 code units of the segment before the text.
    pub index: u64,
    /// The text.
    pub text: String,
    /// The reason for the reset that began the segment, if one did.
    pub reset: Option<ResetReason>,
    /// Spending of the turn by then.
    pub spent: Option<Spent>,
    /// The time after which it may be deleted.
    pub expires: Timestamp,
}

/// Facts about the last checkpoint of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastCheckpoint {
    /// The position at which the stored text ends.
    pub end: StreamPosition,
    /// Spending of the turn by then.
    pub spent: Option<Spent>,
}

impl From<Checkpoint> for LastCheckpoint {
    fn from(Checkpoint { end, spent, .. }: Checkpoint) -> Self {
        Self { end, spent }
    }
}

impl Checkpoint {
    /// Returns the position at which the text begins.
    #[must_use]
    pub fn start(&self) -> StreamPosition {
        StreamPosition { segment: self.end.segment, offset: self.end.offset.saturating_sub(self.text.len()) }
    }
}
