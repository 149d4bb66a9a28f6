//! Facts about a model call.

use contracts::{Timestamp, Usage};
use protocol::id::AttemptId;
use serde::{Deserialize, Serialize};

/// A model call that returned a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ModelCallInfo {
    /// The attempt that made it. Its raw payloads and its recovery point are stored under this id.
    pub attempt_id: AttemptId,
    /// Number of the attempt within the turn, from 1.
    pub attempt_number: u32,
    /// Time of the request.
    pub requested_at: Timestamp,
    /// Duration in milliseconds, retries included.
    pub duration_ms: u64,
    /// Tokens used.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usage: Option<Usage>,
    /// Number of the model call within the turn.
    pub number: u32,
    /// Set if its raw payloads are stored.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub has_raw_payloads: bool,
    /// Set if its long values are stored as files of the turn.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub has_long_values: bool,
    /// Number of the recovery point with its tool calls. 0 without tool calls.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub recovery_point: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}
