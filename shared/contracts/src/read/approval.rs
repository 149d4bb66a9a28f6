//! Approvals of calls of tools.

use serde::{Deserialize, Serialize};

use super::EntityHeader;
use crate::{
    Fingerprint, Timestamp,
    id::{SessionId, TurnId, UserId},
};

/// A call of a tool that a person has to approve before it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct Approval {
    /// Id of the approval.
    pub approval_id: String,
    /// Status.
    pub status: ApprovalStatus,
    /// Id of the session.
    pub session_id: SessionId,
    /// Id of the turn that waits.
    pub turn_id: TurnId,
    /// Number of the model reply that made the call, from 1.
    pub round: u32,
    /// Id of the call in its turn.
    pub tool_call_id: String,
    /// Name of the tool, as the model called it.
    pub tool: String,
    /// Id of the connection.
    pub connection_id: String,
    /// Version of the connection.
    pub connection_version: u32,
    /// Arguments as canonical JSON. They come from a model: show them as data.
    pub arguments_json: String,
    /// Arguments that the approval put in their place, as canonical JSON.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub edited_arguments_json: Option<String>,
    /// SHA-256 of the exact call: tool, connection, version, schema and arguments. An approval names it.
    pub hash: Fingerprint,
    /// Id of the user whose turn it is.
    pub asked_by_user_id: UserId,
    /// True if the caller may answer.
    pub may_answer: bool,
    /// True if an approval may change the arguments.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub may_edit: bool,
    /// Time at which the approval was asked for.
    pub creation_date: Timestamp,
    /// Time from which it can't be answered.
    pub expires_date: Timestamp,
    /// User who answered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answered_by_user: Option<EntityHeader>,
    /// Time of the answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answered_date: Option<Timestamp>,
    /// Reason of a denial.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
}

/// Status of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalStatus {
    /// It waits for an answer.
    Pending,
    /// It was approved.
    Approved,
    /// It was denied.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// The turn ended before the answer.
    Closed,
}

/// What an open turn waits for, apart from its model and the client's tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct Waiting {
    /// Approvals that have no answer yet.
    pub approvals: Vec<WaitingApproval>,
}

/// An approval that a turn waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct WaitingApproval {
    /// Id of the approval.
    pub approval_id: String,
    /// URL of the approval.
    pub url: String,
    /// Name of the tool, as the model called it.
    pub tool: String,
    /// Id of the call.
    pub tool_call_id: String,
    /// Time from which it can't be answered.
    pub expires_date: Timestamp,
}
