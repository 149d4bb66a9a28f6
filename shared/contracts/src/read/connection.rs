//! Results of operations on connections.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::ConnectionId;

/// A stored secret of a connection, without the secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct ConnectionSecret {
    /// Id of the connection.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub connection_id: ConnectionId,
    /// The only host that the secret is sent to, with its port.
    pub host: String,
}

/// The outcome of a tool's call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolTrialOutcome {
    /// The target performed the call.
    Done,
    /// The target refused the call and performed nothing.
    Refused,
    /// Nothing was sent.
    NotSent,
    /// The call was sent, and whether the target performed it isn't known.
    Unknown,
}

/// The result of one call of a connection's tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct ToolTrial {
    /// The outcome.
    pub outcome: ToolTrialOutcome,
    /// The result, as the model gets it. Present if the target performed the call.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub result: Option<Value>,
    /// The reason, as the model gets it. Present if the call wasn't performed, or that isn't known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message: Option<String>,
    /// The time that the call took, in milliseconds.
    pub duration_milliseconds: u64,
}
