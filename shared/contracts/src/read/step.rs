//! Steps of a turn.

use serde::{Deserialize, Serialize};

use crate::{timestamp::Timestamp, usage::Usage};

/// One reply of the model, with the results of its tool calls. A turn's transcript is its instruction and its
/// steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct TurnStep {
    /// Number of the reply within the turn, from 1.
    pub round: u32,
    /// Kind of step.
    pub kind: StepKind,
    /// Text of the model, as Markdown. In a reply with calls, the text that accompanies them. Absent if there is
    /// none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text: Option<String>,
    /// URL of the full text. Absent unless `Text` is truncated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub full_text_url: Option<String>,
    /// Tool calls, in the model's order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub calls: Vec<StepCall>,
    /// Deadline for the results of pending calls. Absent if no call is pending.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool_deadline_date: Option<Timestamp>,
    /// Model that was called.
    #[serde(rename = "OpenAIModel", skip_serializing_if = "Option::is_none", default)]
    pub openai_model: Option<String>,
    /// Number of the attempt that called the model, from 1. This and the following members are absent in records of
    /// earlier versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub attempt: Option<u32>,
    /// Time of the model call.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub asked_date: Option<Timestamp>,
    /// Duration of the model call in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model_ms: Option<u64>,
    /// Token usage. Absent if the provider doesn't report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usage: Option<Usage>,
    /// URL of the raw model request. Present if the conversation context keeps raw payloads. Visible to operators
    /// only.
    #[serde(rename = "OpenAIRequestPayloadUrl", skip_serializing_if = "Option::is_none", default)]
    pub openai_request_payload_url: Option<String>,
    /// URL of the raw model response. Visible to operators only.
    #[serde(rename = "OpenAIResponsePayloadUrl", skip_serializing_if = "Option::is_none", default)]
    pub openai_response_payload_url: Option<String>,
}

/// Kind of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// A reply with tool calls.
    Tools,
    /// The answer.
    Answer,
    /// The part of an answer that existed when the turn failed or was ended.
    PartialAnswer,
}

/// A tool call of a step and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct StepCall {
    /// Identifies the call within the turn.
    pub tool_call_id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments as the model wrote them, normally a JSON text.
    pub arguments_json: String,
    /// URL of the full arguments. Absent unless `ArgumentsJson` is truncated, in which case it is not valid JSON.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub full_arguments_json_url: Option<String>,
    /// True if the result is pending.
    pub is_pending: bool,
    /// The party that runs the call. Absent in records of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ran_by: Option<RanBy>,
    /// Id of the connection that the tool belongs to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connection_id: Option<String>,
    /// Version of the connection that the call was made over.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connection_version: Option<u32>,
    /// Execution time in milliseconds. For client tools, as the client reports it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub execution_ms: Option<u64>,
    /// Result, a JSON text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub result_json: Option<String>,
    /// URL of the full result. Absent unless `ResultJson` is truncated, in which case it is not valid JSON.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub full_result_json_url: Option<String>,
    /// Error message of a failed call.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error_message: Option<String>,
    /// URL of the full error message. Absent unless `ErrorMessage` is truncated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub full_error_message_url: Option<String>,
}

/// The party that runs a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RanBy {
    /// The service. It also rejects calls that match no tool.
    Server,
    /// The client.
    Client,
}
