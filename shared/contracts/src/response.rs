//! `AgentExecuteResponse` (AGN-033): exactly one of two kinds, each with its own buckets.
//!
//! A kind has no field for what it forbids, so it can't be written, and reading refuses it. Deliberately
//! absent: errors, which are only in [`crate::InvokeResult`] (§2.1), and everything that §3.1 keeps on the
//! server.

use serde::{Deserialize, Serialize};

use crate::{
    hash::ContentHash,
    id::{SessionId, TurnId},
    non_empty::NonEmpty,
    timestamp::Timestamp,
    usage::Usage,
};

/// What a turn answered. A bucket that a kind forbids has no place to be (AGN-033 §3.4, §3.5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "Kind", rename_all = "snake_case")]
pub enum AgentExecuteResponse {
    /// Completed and to be shown to the user.
    Final(Final),
    /// The client must run tools and send their results.
    ClientToolContinuation(ClientToolContinuation),
}

impl AgentExecuteResponse {
    /// The session metadata, which both kinds have (AGN-033 §3.1).
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

/// The session metadata of every response (AGN-033 §3.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct Metadata {
    /// The session.
    pub session_id: SessionId,
    /// The turn.
    pub turn_id: TurnId,
    /// For display alone; clients must not branch on it.
    pub mode_display_name: String,
}

/// `Kind = final` (AGN-033 §3.4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase", from = "FinalMembers")]
pub struct Final {
    /// Session metadata.
    #[serde(flatten)]
    pub metadata: Metadata,
    /// The whole answer, Markdown (AGN-033 §4.1). A bundle of files for a program to apply stands in a fenced
    /// block that is tagged `aptix-json`, as `{"Files":[{"Path":"src/a.rs","Contents":"…"}]}`; a bundle that the
    /// model wrote without a fence has one here.
    pub primary_output_text: String,
    /// Files the answer refers to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileRef>,
    /// What server-side tools returned (AGN-033 §5.3).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_results: Vec<ToolResult>,
    /// Non-fatal notes for the user.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub user_warnings: Vec<String>,
    /// Tokens used, when the provider told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// `Kind = client_tool_continuation` (AGN-033 §3.4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase", from = "ContinuationMembers")]
pub struct ClientToolContinuation {
    /// Session metadata.
    #[serde(flatten)]
    pub metadata: Metadata,
    /// The calls, in the order in which results must come back (AGN-033 §3.3).
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<ToolCall>, min_items = 1))]
    pub tool_calls: NonEmpty<ToolCall>,
    /// Informational only (AGN-033 §4.2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_continuation_message: Option<String>,
}

/// A call the client must run (AGN-033 §5.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct ToolCall {
    /// Identifies the call within the turn.
    pub tool_call_id: String,
    /// The tool.
    pub name: String,
    /// Its arguments, a JSON text.
    pub arguments_json: String,
}

/// What a tool returned (AGN-033 §5.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase", try_from = "ToolResultMembers")]
pub struct ToolResult {
    /// The call that was run.
    pub tool_call_id: String,
    /// How long it took, in milliseconds.
    pub execution_ms: u64,
    /// Result or error, never both.
    #[serde(flatten)]
    pub outcome: ToolOutcome,
}

/// Exactly one of `ResultJson` and `ErrorMessage` (AGN-033 §5.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ToolOutcome {
    /// The tool returned this JSON text.
    ResultJson(String),
    /// The tool failed; a valid result all the same.
    ErrorMessage(String),
}

/// A file by reference (AGN-033 §6.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct FileRef {
    /// The file's name.
    pub name: String,
    /// Its media type.
    pub mime_type: String,
    /// Where to read it: a URL relative to the API's base, which ends in `/`.
    pub url: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Its content hash (IDX-016). Of text, which is UTF-8 without NUL: SHA-256 of its lines' first 500
    /// UTF-16 units, each with an LF behind it, whatever its line ends. Of anything else: SHA-256 of its
    /// bytes. The hash in `Url` is always that of the bytes.
    pub content_hash: ContentHash,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub description: Option<String>,
    /// When the reference stops working; never, when absent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub content_expires: Option<Timestamp>,
}

/// The members of [`Final`] as they are on the wire. Serde can't refuse unknown members of a struct that has
/// a flattened field, so reading goes through this one.
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

/// The members of [`ClientToolContinuation`] as they are on the wire.
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

/// The members of [`ToolResult`] as they are on the wire.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct ToolResultMembers {
    tool_call_id: String,
    execution_ms: u64,
    result_json: Option<String>,
    error_message: Option<String>,
}

/// A tool result has both outcomes or none.
#[derive(Debug, thiserror::Error)]
#[error("a tool result must hold exactly one of ResultJson and ErrorMessage (AGN-033 §5.2)")]
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
