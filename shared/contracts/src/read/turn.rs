//! Turns, their summaries, and references to their sources and files.

use serde::{Deserialize, Serialize};

use super::{Cost, EntityHeader, Score, StatusReason, TurnStatus, Waiting, status};
use crate::{
    error::ErrorCode,
    hash::ContentHash,
    id::{SessionId, TurnId, UserId},
    timestamp::Timestamp,
    usage::Usage,
};

/// A turn: one instruction and its outcome.
///
/// The provider's ids and raw payloads are visible to operators only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct AgentSessionTurn {
    /// Id of the turn.
    pub id: TurnId,
    /// Sequence number in the session, from 1.
    pub sequence_number: u64,
    /// User who submitted the instruction.
    pub created_by_user: EntityHeader,
    /// Time at which the turn was accepted.
    pub creation_date: Timestamp,
    /// Status of the turn.
    #[serde(with = "status::header")]
    #[cfg_attr(feature = "openapi", schema(value_type = status::header::TurnStatusHeader))]
    pub status: TurnStatus,
    /// Reason for the status.
    pub status_reason: StatusReason,
    /// Error code of a failed turn. Absent otherwise, and in records of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error_code: Option<ErrorCode>,
    /// What the turn waits for, while it waits for people to approve its calls. Absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub waiting: Option<Waiting>,
    /// Time of the latest status change.
    pub status_time_stamp: Timestamp,
    /// User who cancelled the turn, or who deleted its session while the turn was open. Absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cancelled_by_user_id: Option<UserId>,
    /// Time of the provider's response, successful or not.
    #[serde(rename = "OpenAIResponseReceivedDate", skip_serializing_if = "Option::is_none", default)]
    pub openai_response_received_date: Option<Timestamp>,
    /// Time until which the provider is expected to keep the stored responses.
    #[serde(rename = "OpenAIChainExpiresDate", skip_serializing_if = "Option::is_none", default)]
    pub openai_chain_expires_date: Option<Timestamp>,
    /// Id of the turn that this turn reruns. Absent unless it is a rerun.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rerun_of_turn_id: Option<TurnId>,
    /// Key of the mode at the start of the turn.
    pub mode: String,
    /// Id of the session.
    pub conversation_id: SessionId,
    /// The provider's id of the response. Visible to operators only.
    #[serde(rename = "OpenAIResponseId", skip_serializing_if = "Option::is_none", default)]
    pub openai_response_id: Option<String>,
    /// The provider's id of the response that the model call continued from. With several calls, that of the last
    /// one. Absent if that call started a new chain. Visible to operators only.
    #[serde(rename = "PreviousOpenAIResponseId", skip_serializing_if = "Option::is_none", default)]
    pub previous_openai_response_id: Option<String>,
    /// Model that was called, or that answered.
    #[serde(rename = "OpenAIModel", skip_serializing_if = "Option::is_none", default)]
    pub openai_model: Option<String>,
    /// Beginning of the instruction.
    pub instruction_summary: String,
    /// True if the summary is truncated. Absent otherwise, and in records of earlier versions.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub instruction_summary_truncated: bool,
    /// URL of the full instruction.
    pub full_instruction_url: String,
    /// Beginning of the answer. Completed turns only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent_answer_summary: Option<String>,
    /// True if the summary is truncated. Absent otherwise, and in records of earlier versions.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub agent_answer_summary_truncated: bool,
    /// Beginning of a failed turn's partial answer. The turn's steps have the full text. A turn that was cancelled
    /// or superseded has one if its text was streamed or accompanied client tool calls.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub partial_answer_summary: Option<String>,
    /// True if the summary is truncated. Absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub partial_answer_summary_truncated: bool,
    /// URL of the full answer. Completed turns only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub full_agent_answer_url: Option<String>,
    /// URL of the raw request of the last model call. Present if the conversation context keeps raw payloads.
    /// Visible to operators only.
    #[serde(rename = "OpenAIRequestPayloadUrl", skip_serializing_if = "Option::is_none", default)]
    pub openai_request_payload_url: Option<String>,
    /// URL of the raw response of the last model call. Visible to operators only.
    #[serde(rename = "OpenAIResponsePayloadUrl", skip_serializing_if = "Option::is_none", default)]
    pub openai_response_payload_url: Option<String>,
    /// Chunks found by retrieval: the sources of the answer.
    pub chunk_refs: Vec<AgentSessionChunkRef>,
    /// Files that the client sent with the turn.
    pub active_file_refs: Vec<AgentSessionActiveFileRef>,
    /// Token usage. Present once the turn has ended, if it called a model.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usage: Option<Usage>,
    /// Estimated part of the total tokens: of a call that was cut off, or whose provider doesn't report usage. Absent
    /// if there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub estimated_tokens: Option<u64>,
    /// Cost of the tokens. Absent without prices.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost: Option<Cost>,
    /// Total execution time of client tools in milliseconds, as the client reports it. Absent if none ran.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub client_tool_ms: Option<u64>,
    /// Total execution time of server tools in milliseconds. Absent if none ran.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_tool_ms: Option<u64>,
    /// Number of rounds of tool calls. Absent if there were none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool_rounds: Option<u32>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// Errors of a failed turn.
    pub errors: Vec<String>,
}

/// Summary of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct AgentSessionTurnSummary {
    /// Id of the turn.
    pub id: TurnId,
    /// Id of the session.
    pub session_id: SessionId,
    /// Sequence number in the session, from 1.
    pub sequence_number: u64,
    /// User who submitted the instruction.
    pub created_by_user: EntityHeader,
    /// Time at which the turn was accepted.
    pub creation_date: Timestamp,
    /// Status of the turn.
    #[serde(with = "status::header")]
    #[cfg_attr(feature = "openapi", schema(value_type = status::header::TurnStatusHeader))]
    pub status: TurnStatus,
    /// Reason for the status.
    pub status_reason: StatusReason,
    /// Error code of a failed turn. Absent otherwise, and in records of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error_code: Option<ErrorCode>,
    /// Time of the latest status change.
    pub status_time_stamp: Timestamp,
    /// Beginning of the instruction.
    pub instruction_summary: String,
    /// True if the summary is truncated. Absent otherwise, and in records of earlier versions.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub instruction_summary_truncated: bool,
    /// Beginning of the answer. Completed turns only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent_answer_summary: Option<String>,
    /// True if the summary is truncated. Absent otherwise, and in records of earlier versions.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub agent_answer_summary_truncated: bool,
    /// Beginning of a failed turn's partial answer. The turn's steps have the full text. A turn that was cancelled
    /// or superseded has one if its text was streamed or accompanied client tool calls.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub partial_answer_summary: Option<String>,
    /// True if the summary is truncated. Absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub partial_answer_summary_truncated: bool,
}

/// A chunk found by retrieval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct AgentSessionChunkRef {
    /// Id of the chunk in the vector database.
    pub chunk_id: String,
    /// Path of the source.
    pub path: String,
    /// First line.
    pub start_line: u32,
    /// Last line.
    pub end_line: u32,
    /// Hash of the text that the model got: the chunk, with neighbouring chunks and lines that were added to it.
    pub content_hash: ContentHash,
    /// Similarity to the question, at most 1; higher is closer. The scores of one embedding model are comparable.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<f64>))]
    pub score: Option<Score>,
    /// Repository of the source.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub repo: Option<String>,
    /// Headings above the passage, outermost first.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub section: Option<String>,
    /// Page of the source, from 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub page: Option<u32>,
}

/// A file that the client sent with a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct AgentSessionActiveFileRef {
    /// Path of the file.
    pub path: String,
    /// Content hash when it was sent.
    pub content_hash: ContentHash,
    /// Size in bytes.
    pub size_bytes: u64,
    /// True if the session's previous turn had the same path with another hash.
    pub is_touched: bool,
    /// True if the file or an excerpt was sent to the model.
    #[serde(rename = "WasSentToLLM")]
    pub was_sent_to_llm: bool,
    /// True if the file was too large to send.
    pub was_too_large_to_send: bool,
}
