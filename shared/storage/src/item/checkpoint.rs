//! The stored checkpoint of a stream.

use contracts::{
    Timestamp,
    stream::{EventId, ResetReason},
};
use protocol::{id::TurnKey, spent::Spent, stream_position::StreamPosition};
use serde::{Deserialize, Serialize};
use turns::checkpoint::Checkpoint;

use super::Entity;
use crate::key;

/// See [`key::Item::Checkpoint`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct CheckpointItem {
    end: EventId,
    index: u64,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    reset: Option<ResetReason>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    spent: Option<Spent>,
    /// Seconds since 1970, as DynamoDB's time to live expects.
    expires_at: i64,
}

impl Entity for Checkpoint {
    type Item = CheckpointItem;

    fn key(&self) -> key::Item<'_> {
        key::Item::Checkpoint(&self.key, self.end.event_id())
    }
}

impl From<&Checkpoint> for CheckpointItem {
    fn from(checkpoint: &Checkpoint) -> Self {
        let end = checkpoint.end.event_id();
        Self {
            end,
            index: checkpoint.index,
            text: checkpoint.text.clone(),
            reset: checkpoint.reset,
            spent: checkpoint.spent.clone(),
            expires_at: checkpoint.expires.as_millis() / 1_000,
        }
    }
}

impl CheckpointItem {
    pub(crate) fn into_checkpoint(self, key: TurnKey) -> Checkpoint {
        Checkpoint {
            key,
            end: StreamPosition::from(self.end),
            index: self.index,
            text: self.text,
            reset: self.reset,
            spent: self.spent,
            expires: Timestamp::from_millis(self.expires_at.saturating_mul(1_000)),
        }
    }
}
