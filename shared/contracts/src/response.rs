//! `AgentExecuteResponse`, the response of a turn: one of two kinds, each with its own members.
//!
//! A kind has no field for a member that it forbids, so such a member can't be written, and reading rejects it.
//! Deliberately absent: errors, which are only in [`crate::InvokeResult`], and all provider and pipeline state.

use serde::{Deserialize, Serialize};

use crate::{
    hash::ContentHash,
    id::{SessionId, TurnId},
    non_empty::NonEmpty,
    timestamp::Timestamp,
    usage::Usage,
};

/// Warning for the user if an answer ends at the token limit.
pub const TOKEN_LIMIT_REACHED: &str = "The answer reached the most tokens that it may have and stops there. Ask to go on, or for a shorter answer.";

/// The response of a turn: either the final answer or tool calls for the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "Kind", rename_all = "snake_case")]
pub enum AgentExecuteResponse {
    /// The turn is completed. Show the answer to the user.
    Final(Final),
    /// The turn waits. Run the tool calls and submit their results.
    ClientToolContinuation(ClientToolContinuation),
}

impl AgentExecuteResponse {
    /// The metadata that both kinds have.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        match self {
            Self::Final(response) => &response.metadata,
            Self::ClientToolContinuation(response) => &response.metadata,
        }
    }
}

impl From<Final> for AgentExecuteResponse {
    fn from(response: Final) -> Self {
        Self::Final(response)
    }
}

impl From<ClientToolContinuation> for AgentExecuteResponse {
    fn from(response: ClientToolContinuation) -> Self {
        Self::ClientToolContinuation(response)
    }
}

/// Metadata of every response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct Metadata {
    /// The session.
    pub session_id: SessionId,
    /// The turn.
    pub turn_id: TurnId,
    /// Display name of the mode. Clients must not branch on it.
    pub mode_display_name: String,
}

/// The final answer of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase", from = "FinalMembers")]
pub struct Final {
    /// Session metadata.
    #[serde(flatten)]
    pub metadata: Metadata,
    /// The complete answer, as Markdown. A bundle of files for a program to apply is in a fenced block tagged
    /// `aptix-json`, as `{"Files":[{"Path":"src/a.rs","Contents":"…"}]}`. If the model wrote a bundle without a
    /// fence, the service adds it.
    pub primary_output_text: String,
    /// Files that the answer refers to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileRef>,
    /// Results of server-side tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_results: Vec<ToolResult>,
    /// Non-fatal warnings for the user.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub user_warnings: Vec<String>,
    /// Token usage. Absent if the provider doesn't report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// A turn that waits for the results of client tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase", from = "ContinuationMembers")]
pub struct ClientToolContinuation {
    /// Session metadata.
    #[serde(flatten)]
    pub metadata: Metadata,
    /// Tool calls to run. Submit the results in the same order.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<ToolCall>, min_items = 1))]
    pub tool_calls: NonEmpty<ToolCall>,
    /// Text that the model wrote with the calls. Informational only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_continuation_message: Option<String>,
}

/// A tool call that the client must run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct ToolCall {
    /// Identifies the call within the turn.
    pub tool_call_id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments of the call, as a JSON text.
    pub arguments_json: String,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase", try_from = "ToolResultMembers")]
pub struct ToolResult {
    /// The call that was run.
    pub tool_call_id: String,
    /// Execution time in milliseconds.
    pub execution_ms: u64,
    /// Either the result or the error.
    #[serde(flatten)]
    pub outcome: ToolOutcome,
}

/// Exactly one of `ResultJson` and `ErrorMessage`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ToolOutcome {
    /// The tool returned this JSON text.
    ResultJson(String),
    /// The tool failed with this message. A failure is a valid result.
    ErrorMessage(String),
}

/// A reference to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct FileRef {
    /// The file's name.
    pub name: String,
    /// Its media type.
    pub mime_type: String,
    /// URL of the file, relative to the API's base URL, which ends in `/`.
    pub url: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Content hash of the file. For text (UTF-8 without NUL): the SHA-256 of the first 500 UTF-16 code units of
    /// each line, each followed by an LF, whatever the line endings. For other files: the SHA-256 of the bytes. The
    /// hash in `Url` is always the SHA-256 of the bytes.
    pub content_hash: ContentHash,
    /// Description of the file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub description: Option<String>,
    /// Expiry of the reference. Absent if it never expires.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub content_expires: Option<Timestamp>,
}

/// The wire form of [`Final`]. Serde can't reject unknown members of a struct with a flattened field, so reading
/// goes through this struct.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct FinalMembers {
    session_id: SessionId,
    turn_id: TurnId,
    mode_display_name: String,
    primary_output_text: String,
    #[serde(default)]
    files: Vec<FileRef>,
    #[serde(default)]
    tool_results: Vec<ToolResult>,
    #[serde(default)]
    user_warnings: Vec<String>,
    usage: Option<Usage>,
}

impl From<FinalMembers> for Final {
    fn from(read: FinalMembers) -> Self {
        Self {
            metadata: Metadata {
                session_id: read.session_id,
                turn_id: read.turn_id,
                mode_display_name: read.mode_display_name,
            },
            primary_output_text: read.primary_output_text,
            files: read.files,
            tool_results: read.tool_results,
            user_warnings: read.user_warnings,
            usage: read.usage,
        }
    }
}

/// The wire form of [`ClientToolContinuation`].
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct ContinuationMembers {
    session_id: SessionId,
    turn_id: TurnId,
    mode_display_name: String,
    tool_calls: NonEmpty<ToolCall>,
    tool_continuation_message: Option<String>,
}

impl From<ContinuationMembers> for ClientToolContinuation {
    fn from(read: ContinuationMembers) -> Self {
        Self {
            metadata: Metadata {
                session_id: read.session_id,
                turn_id: read.turn_id,
                mode_display_name: read.mode_display_name,
            },
            tool_calls: read.tool_calls,
            tool_continuation_message: read.tool_continuation_message,
        }
    }
}

/// The wire form of [`ToolResult`].
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct ToolResultMembers {
    tool_call_id: String,
    execution_ms: u64,
    result_json: Option<String>,
    error_message: Option<String>,
}

/// The tool result has both outcomes or none.
#[derive(Debug, thiserror::Error)]
#[error("a tool result must hold exactly one of ResultJson and ErrorMessage")]
struct NotOneOutcome;

impl TryFrom<ToolResultMembers> for ToolResult {
    type Error = NotOneOutcome;
    fn try_from(read: ToolResultMembers) -> Result<Self, NotOneOutcome> {
        let outcome = match (read.result_json, read.error_message) {
            (Some(json), None) => ToolOutcome::ResultJson(json),
            (None, Some(message)) => ToolOutcome::ErrorMessage(message),
            (Some(_), Some(_)) | (None, None) => return Err(NotOneOutcome),
        };
        Ok(Self { tool_call_id: read.tool_call_id, execution_ms: read.execution_ms, outcome })
    }
}
