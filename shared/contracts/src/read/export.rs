//! Documents that an export writes and an import reads.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{AgentSession, AgentSessionTurn, ModeChange, TurnFeedback};
use crate::{hash::FileAddress, id::SessionId};

/// Format of an exported session. An incompatible version has another name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ExportFormat {
    /// A session.
    #[serde(rename = "aptix-export/1")]
    Session,
}

/// Format of the last line of an org's export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ExportEndFormat {
    /// The end of the export.
    #[serde(rename = "aptix-export-end/1")]
    End,
}

/// A session as one document, with everything that the API shows of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct SessionExport {
    /// The format of this document.
    pub format: ExportFormat,
    /// The session, without its turns and its mode history, which follow.
    pub session: AgentSession,
    /// Every mode change, newest first.
    pub mode_history: Vec<ModeChange>,
    /// The turns, by sequence number.
    pub turns: Vec<ExportedTurn>,
    /// URL of the session's own export, relative to the API's base URL. Present if the export of an org stopped within
    /// this session, whose turns or payloads are incomplete then.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub remainder_url: Option<String>,
    /// The session's database items, for imports only: each with its sort key as `Key` and its attributes. Present
    /// in an operator's export with inline payloads.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<Object>>))]
    pub stored: Option<Vec<Map<String, Value>>>,
}

/// A turn of an exported session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct ExportedTurn {
    /// The turn.
    pub turn: AgentSessionTurn,
    /// Feedback of users on the turn.
    pub feedback: Vec<TurnFeedback>,
    /// Full request and answer with their files. For operators also the turn's internal records.
    pub payloads: Vec<ExportedPayload>,
}

/// A payload of an exported turn. It has `Text` or `Base64`, or `Url` in an export with links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct ExportedPayload {
    /// The kind of payload.
    pub kind: PayloadKind,
    /// File name for the payload.
    pub name: String,
    /// Key of the object within the turn.
    pub object: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Media type. Absent in an export with links.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mime_type: Option<String>,
    /// SHA-256 of the bytes. Absent in an export with links.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sha256: Option<FileAddress>,
    /// The content, if it is text: UTF-8 without NUL.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text: Option<String>,
    /// The content in Base64, if it is not text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub base64: Option<String>,
    /// URL of the payload, relative to the API's base URL.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub url: Option<String>,
}

/// Kind of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum PayloadKind {
    /// The full request.
    Instruction,
    /// The full answer.
    Answer,
    /// The part of an answer that existed when the turn ended.
    PartialAnswer,
    /// A file that the answer refers to.
    File,
    /// The request of a model call.
    LlmRequest,
    /// The provider's response to a model call.
    LlmResponse,
    /// The internal record of the turn's outcome.
    Outcome,
    /// The internal record of a step.
    Step,
    /// The internal record of a round before its calls with effects.
    Round,
    /// The internal record of the result of such a call.
    EffectResult,
    /// Results of client tools.
    ToolResults,
}

/// The last line of an org's export. An export without it is incomplete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct ExportEnd {
    /// The format of this document.
    pub format: ExportEndFormat,
    /// Number of sessions in this export.
    pub session_count: u64,
    /// Token to continue the export. Absent if it is complete.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub continuation_token: Option<String>,
}

/// A line of an org's export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "nearly every line is a session")]
pub enum ExportLine {
    /// A session.
    Session(SessionExport),
    /// The end of the export.
    End(ExportEnd),
}

/// Result of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct SessionImport {
    /// The imported sessions, in the order of the body.
    pub sessions: Vec<ImportedSession>,
}

/// An imported session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct ImportedSession {
    /// Id of the session.
    pub id: SessionId,
    /// Id of the session in the export.
    pub exported_id: SessionId,
    /// Number of turns.
    pub turn_count: u64,
}
