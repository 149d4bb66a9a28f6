//! What users say of a turn.

use serde::{Deserialize, Serialize};

use super::EntityHeader;
use crate::timestamp::Timestamp;

/// What a user says of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct TurnFeedback {
    /// Who says it.
    pub user: EntityHeader,
    /// How good the answer was: 1 is worst, 5 best.
    pub rating: u8,
    /// A word for why, of the client's own choice.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub label: Option<String>,
    /// The user's own words.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<String>,
    /// When that user first said something of the turn.
    pub creation_date: Timestamp,
    /// When this was said.
    pub last_updated_date: Timestamp,
}
