//! What a turn did, reply by reply.

use serde::{Deserialize, Serialize};

use crate::{timestamp::Timestamp, usage::Usage};

/// One reply of the model, and what came of the calls in it. A turn's transcript is its instruction and these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct TurnStep {
    /// Which of the turn's replies it is, from 1.
    pub round: u32,
    /// What it is.
    pub kind: StepKind,
    /// What the model wrote, Markdown; of a reply with calls, what it wrote beside them. Absent where it wrote nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text: Option<String>,
    /// Where to read all of it; absent where `Text` is all of it, and not its head.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub full_text_url: Option<String>,
    /// Its calls, in the model's order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub calls: Vec<StepCall>,
    /// Until when the results of its pending calls are waited for; absent unless there are any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool_deadline_date: Option<Timestamp>,
    /// The model that was asked.
    #[serde(rename = "OpenAIModel", skip_serializing_if = "Option::is_none", default)]
    pub openai_model: Option<String>,
    /// Which attempt at the turn asked, from 1. This and what follows is absent of what earlier versions kept.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub attempt: Option<u32>,
    /// When the model was asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub asked_date: Option<Timestamp>,
    /// How long the model took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model_ms: Option<u64>,
    /// Tokens used, when the provider told.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usage: Option<Usage>,
    /// Where to read what was sent to the provider, where the context keeps it; operators only.
    #[serde(rename = "OpenAIRequestPayloadUrl", skip_serializing_if = "Option::is_none", default)]
    pub openai_request_payload_url: Option<String>,
    /// Where to read what the provider answered to it; operators only.
    #[serde(rename = "OpenAIResponsePayloadUrl", skip_serializing_if = "Option::is_none", default)]
    pub openai_response_payload_url: Option<String>,
}

/// What a step of a turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// A reply that called tools.
    Tools,
    /// The answer.
    Answer,
    /// What there was of an answer when the turn failed, or was ended.
    PartialAnswer,
}

/// A call of a step, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct StepCall {
    /// Identifies the call within the turn.
    pub tool_call_id: String,
    /// The tool.
    pub name: String,
    /// Its arguments as the model wrote them: a JSON text, as a rule.
    pub arguments_json: String,
    /// Where to read all of them; absent where `ArgumentsJson` is all, and not a head that is no JSON.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub full_arguments_json_url: Option<String>,
    /// Whether its result is waited for.
    pub is_pending: bool,
    /// Who ran it, or is to; absent of what earlier versions kept.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ran_by: Option<RanBy>,
    /// How long it took, in milliseconds; of the client's tools by the client's own word.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub execution_ms: Option<u64>,
    /// What it returned, a JSON text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub result_json: Option<String>,
    /// Where to read all of it; absent where `ResultJson` is all of it, and not a head that is no JSON.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub full_result_json_url: Option<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error_message: Option<String>,
    /// Where to read all of it; absent where `ErrorMessage` is all of it, and not its head.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub full_error_message_url: Option<String>,
}

/// Who runs a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RanBy {
    /// The service, which also refuses calls that fit no tool.
    Server,
    /// The client.
    Client,
}
