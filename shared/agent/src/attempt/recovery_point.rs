//! The stored form of an attempt's progress.

use serde::{Deserialize, Serialize};

use crate::attempt::{AttemptState, TurnSpec};

/// A state of an attempt that another attempt can continue from, as stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct RecoveryPoint {
    /// The resolved settings of the turn.
    pub spec: TurnSpec,
    /// The results so far.
    pub state: AttemptState,
}
