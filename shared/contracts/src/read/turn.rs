//! Turns: the whole of one, the light summary, and what a turn looked at.

use serde::{Deserialize, Serialize};

use super::{Cost, EntityHeader, Score, StatusReason, TurnStatus, status};
use crate::{
    error::ErrorCode,
    hash::ContentHash,
    id::{SessionId, TurnId, UserId},
    timestamp::Timestamp,
    usage::Usage,
};

/// One instruction and what came of it (DD-002B).
///
/// The provider's ids and raw payloads are there for callers with the operator claim alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct AgentSessionTurn {
    /// The turn.
    pub id: TurnId,
    /// Its place in the session: 1, 2, 3 … (I3).
    pub sequence_number: u64,
    /// Who submitted the instruction.
    pub created_by_user: EntityHeader,
    /// When the turn was accepted.
    pub creation_date: Timestamp,
    /// Where it stands.
    #[serde(with = "status::header")]
    #[cfg_attr(feature = "openapi", schema(value_type = status::header::TurnStatusHeader))]
    pub status: TurnStatus,
    /// Why it stands there.
    pub status_reason: StatusReason,
    /// The code of the error that it ended with; absent unless it failed, and of failures that earlier versions kept.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error_code: Option<ErrorCode>,
    /// When the status last changed.
    pub status_time_stamp: Timestamp,
    /// The user who cancelled it, or who deleted its session while it was open; absent unless somebody did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cancelled_by_user_id: Option<UserId>,
    /// When the provider answered, well or not.
    #[serde(rename = "OpenAIResponseReceivedDate", skip_serializing_if = "Option::is_none", default)]
    pub openai_response_received_date: Option<Timestamp>,
    /// How long the provider keeps the chain, as far as can be relied on.
    #[serde(rename = "OpenAIChainExpiresDate", skip_serializing_if = "Option::is_none", default)]
    pub openai_chain_expires_date: Option<Timestamp>,
    /// The turn that it runs again; absent where a user sent it (DD-006).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rerun_of_turn_id: Option<TurnId>,
    /// The mode's key at the start of the turn.
    pub mode: String,
    /// The session.
    pub conversation_id: SessionId,
    /// The provider's id of the response; operators only.
    #[serde(rename = "OpenAIResponseId", skip_serializing_if = "Option::is_none", default)]
    pub openai_response_id: Option<String>,
    /// The provider's id of the response that the answered request continued from: of several model calls
    /// the last one's, absent where that began a chain anew; operators only.
    #[serde(rename = "PreviousOpenAIResponseId", skip_serializing_if = "Option::is_none", default)]
    pub previous_openai_response_id: Option<String>,
    /// The model that was asked, or that answered.
    #[serde(rename = "OpenAIModel", skip_serializing_if = "Option::is_none", default)]
    pub openai_model: Option<String>,
    /// The head of the instruction (DD-005).
    pub instruction_summary: String,
    /// True where that is less than all of it; else absent, also of turns that earlier versions kept.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub instruction_summary_truncated: bool,
    /// Where to read the whole instruction.
    pub full_instruction_url: String,
    /// The head of the answer; completed turns only (DD-005).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent_answer_summary: Option<String>,
    /// True where that is less than all of it; else absent, also of turns that earlier versions kept.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub agent_answer_summary_truncated: bool,
    /// The head of what there was of an answer, of a failed turn that has none; its steps have all of it. Of a turn that
    /// was ended from outside there is one where it was streamed, or told something beside calls for the client.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub partial_answer_summary: Option<String>,
    /// True where that is less than all of it; else absent.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub partial_answer_summary_truncated: bool,
    /// Where to read the whole answer; completed turns only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub full_agent_answer_url: Option<String>,
    /// Where to read what was sent to the provider in the turn's last model call, where the context keeps
    /// it; operators only.
    #[serde(rename = "OpenAIRequestPayloadUrl", skip_serializing_if = "Option::is_none", default)]
    pub openai_request_payload_url: Option<String>,
    /// Where to read what the provider answered to it; operators only.
    #[serde(rename = "OpenAIResponsePayloadUrl", skip_serializing_if = "Option::is_none", default)]
    pub openai_response_payload_url: Option<String>,
    /// The chunks that retrieval found: the answer's sources.
    pub chunk_refs: Vec<AgentSessionChunkRef>,
    /// The files that the client sent along.
    pub active_file_refs: Vec<AgentSessionActiveFileRef>,
    /// Tokens used, once the turn ended and when the provider told.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usage: Option<Usage>,
    /// What they cost; absent without prices.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost: Option<Cost>,
    /// How long the client's tools took together, in milliseconds, by the client's own word (AGN-033 §5.2);
    /// absent when it ran none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub client_tool_ms: Option<u64>,
    /// How long the server's tools took together, in milliseconds; absent when it ran none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_tool_ms: Option<u64>,
    /// How many rounds of tool calls the turn has had; absent when it had none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool_rounds: Option<u32>,
    /// Warnings of this turn.
    pub warnings: Vec<String>,
    /// Errors of a failed turn.
    pub errors: Vec<String>,
}

/// A turn in a few lines (DD-003).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct AgentSessionTurnSummary {
    /// The turn.
    pub id: TurnId,
    /// The session.
    pub session_id: SessionId,
    /// Its place in the session.
    pub sequence_number: u64,
    /// Who submitted the instruction.
    pub created_by_user: EntityHeader,
    /// When the turn was accepted.
    pub creation_date: Timestamp,
    /// Where it stands.
    #[serde(with = "status::header")]
    #[cfg_attr(feature = "openapi", schema(value_type = status::header::TurnStatusHeader))]
    pub status: TurnStatus,
    /// Why it stands there.
    pub status_reason: StatusReason,
    /// The code of the error that it ended with; absent unless it failed, and of failures that earlier versions kept.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error_code: Option<ErrorCode>,
    /// When the status last changed.
    pub status_time_stamp: Timestamp,
    /// The head of the instruction.
    pub instruction_summary: String,
    /// True where that is less than all of it; else absent, also of turns that earlier versions kept.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub instruction_summary_truncated: bool,
    /// The head of the answer; completed turns only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent_answer_summary: Option<String>,
    /// True where that is less than all of it; else absent, also of turns that earlier versions kept.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub agent_answer_summary_truncated: bool,
    /// The head of what there was of an answer, of a failed turn that has none; its steps have all of it. Of a turn that
    /// was ended from outside there is one where it was streamed, or told something beside calls for the client.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub partial_answer_summary: Option<String>,
    /// True where that is less than all of it; else absent.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub partial_answer_summary_truncated: bool,
}

/// A chunk that retrieval found (DD-002B).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct AgentSessionChunkRef {
    /// The vector database's id of the chunk.
    pub chunk_id: String,
    /// The source it was cut from.
    pub path: String,
    /// Its first line.
    pub start_line: u32,
    /// Its last line.
    pub end_line: u32,
    /// The hash of the chunk's text.
    pub content_hash: ContentHash,
    /// How near it was to the question, as the search ranked it: greater is nearer. Scores of one turn alone compare.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<f64>))]
    pub score: Option<Score>,
}

/// A file that the client sent along (DD-002B).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct AgentSessionActiveFileRef {
    /// The file's path.
    pub path: String,
    /// Its hash at the moment of the call.
    pub content_hash: ContentHash,
    /// Its size.
    pub size_bytes: u64,
    /// Whether the session's previous turn carried the same path with another hash.
    pub is_touched: bool,
    /// Whether the model got the file or an excerpt.
    #[serde(rename = "WasSentToLLM")]
    pub was_sent_to_llm: bool,
    /// Whether the file was over the limit and could not be sent.
    pub was_too_large_to_send: bool,
}
