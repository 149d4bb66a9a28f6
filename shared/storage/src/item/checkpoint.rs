//! The item of a stream's checkpoint.

use contracts::{
    Timestamp,
    stream::{EventId, ResetReason},
};
use protocol::{id::TurnKey, place::Place};
use serde::{Deserialize, Serialize};
use turns::checkpoint::Checkpoint;

use super::Stored;
use crate::key;

/// (ST) in the catalogue.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct CheckpointItem {
    ends: EventId,
    index: u64,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    reset: Option<ResetReason>,
    /// Seconds since 1970, as the table's expiry takes them.
    expires_at: i64,
}

impl Stored for Checkpoint {
    type Item = CheckpointItem;

    fn key(&self) -> key::Item<'_> {
        key::Item::Checkpoint(&self.key, self.ends.id())
    }
}

impl From<&Checkpoint> for CheckpointItem {
    fn from(checkpoint: &Checkpoint) -> Self {
        let ends = checkpoint.ends.id();
        Self {
            ends,
            index: checkpoint.index,
            text: checkpoint.text.clone(),
            reset: checkpoint.reset,
            expires_at: checkpoint.expires.as_millis() / 1_000,
        }
    }
}

impl CheckpointItem {
    pub(crate) fn into_checkpoint(self, key: TurnKey) -> Checkpoint {
        Checkpoint {
            key,
            ends: Place::from(self.ends),
            index: self.index,
            text: self.text,
            reset: self.reset,
            expires: Timestamp::from_millis(self.expires_at.saturating_mul(1_000)),
        }
    }
}
