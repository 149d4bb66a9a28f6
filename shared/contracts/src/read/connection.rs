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

/// The outcome of a comparison with a connection's server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RefreshOutcome {
    /// The tools were compared, and nothing was written.
    Compared,
    /// The named changes were written.
    Accepted,
    /// The server's tools can't be listed.
    Unavailable,
}

/// The difference between a tool of a connection and the server's tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolChange {
    /// The connection doesn't have the tool.
    New,
    /// The server's tool is another one than was accepted.
    Changed,
    /// The server no longer has the tool.
    Removed,
    /// Both are the same.
    Unchanged,
}

/// A server's own word on a tool. It binds nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolHint {
    /// A call changes nothing.
    ReadOnly,
    /// A call may destroy something.
    Destructive,
    /// A second call with the same arguments changes nothing more.
    Idempotent,
    /// A call reaches beyond the server.
    OpenWorld,
}

/// A tool of a server beside the tool of its connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct ToolRefresh {
    /// The name in the connection.
    pub name: String,
    /// The name at the server.
    pub remote_name: String,
    /// The difference before anything was accepted.
    pub change: ToolChange,
    /// True if the change was written.
    pub is_accepted: bool,
    /// The class that an operator set. That of a new tool is `effect`.
    pub class: String,
    /// The server's own hints.
    pub hints: Vec<ToolHint>,
    /// The server's description, with invisible characters as escapes. Present for new and changed tools.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub description: Option<String>,
    /// The server's JSON Schema of the arguments. Present for new and changed tools.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub parameters: Option<Value>,
    /// The connection's description. Present for changed and removed tools.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub accepted_description: Option<String>,
    /// The connection's JSON Schema of the arguments. Present for changed and removed tools.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub accepted_parameters: Option<Value>,
}

/// A tool of a server that a connection can't have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct ExcludedTool {
    /// The name at the server.
    pub name: String,
    /// The rule that the tool breaks.
    pub reason: String,
}

/// A connection's tools beside those of its server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct ConnectionRefresh {
    /// The outcome.
    pub outcome: RefreshOutcome,
    /// The reason, if the server's tools can't be listed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message: Option<String>,
    /// The hash of the server's tools. A request that accepts changes sends it back.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hash: Option<String>,
    /// The entity tag of the connection, after the changes.
    #[serde(rename = "ETag", skip_serializing_if = "Option::is_none", default)]
    pub etag: Option<String>,
    /// The tools: the server's in its order, then the removed ones.
    pub tools: Vec<ToolRefresh>,
    /// The server's other tools.
    pub excluded: Vec<ExcludedTool>,
}
