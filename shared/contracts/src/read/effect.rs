//! Calls of tools whose outcome is unknown.

use serde::{Deserialize, Serialize};

use crate::id::{SessionId, TurnId};

/// A call that was sent and has no valid response, so its target may have performed it or may still do so. Equal calls of
/// its session are refused until an operator resolves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct UnknownEffect {
    /// Id of the call in its session. Equal calls have the same.
    pub effect_id: String,
    /// Id of the session.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub session_id: SessionId,
    /// Id of the turn.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub turn_id: TurnId,
    /// Number of the model reply that made the call, from 1.
    pub round: u32,
    /// Id of the connection.
    pub connection_id: String,
    /// Version of the connection that the call was sent over.
    pub connection_version: u32,
    /// Name of the tool, as the model called it.
    pub tool: String,
    /// Key of the call. A target that honours keys got it in `Idempotency-Key`.
    pub key: String,
    /// Time at which the outcome was found to be unknown.
    pub creation_date: String,
}
