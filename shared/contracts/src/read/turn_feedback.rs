//! Feedback on a turn.

use serde::{Deserialize, Serialize};

use super::EntityHeader;
use crate::timestamp::Timestamp;

/// A user's feedback on a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct TurnFeedback {
    /// User who gave the feedback.
    pub user: EntityHeader,
    /// Rating of the answer from 1 (worst) to 5 (best).
    pub rating: u8,
    /// Short label for the reason, chosen by the client.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub label: Option<String>,
    /// Comment in the user's words.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<String>,
    /// Time of the user's first feedback on the turn.
    pub creation_date: Timestamp,
    /// Time of the latest change.
    pub last_updated_date: Timestamp,
}
