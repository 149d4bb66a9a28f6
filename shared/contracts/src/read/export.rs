//! Sessions as documents: what an export writes and an import reads.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{AgentSession, AgentSessionTurn, ModeChange, TurnFeedback};
use crate::{hash::FileAddress, id::SessionId};

/// The format of an exported session. What this version can't read has another name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ExportFormat {
    /// A session.
    #[serde(rename = "aptix-export/1")]
    Session,
}

/// The format of the last line of an org's export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ExportEndFormat {
    /// The end.
    #[serde(rename = "aptix-export-end/1")]
    End,
}

/// A session as one document: everything that reads show of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct SessionExport {
    /// Names this format.
    pub format: ExportFormat,
    /// The session as it is read, without turns and mode history: they follow.
    pub session: AgentSession,
    /// Every change of its mode, newest first.
    pub mode_history: Vec<ModeChange>,
    /// Its turns, by sequence number.
    pub turns: Vec<ExportedTurn>,
    /// The session's items as they are kept, for an import alone: each with its sort key as `Key` and its attributes. There
    /// in an operator's export with payloads inline.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<Object>>))]
    pub stored: Option<Vec<Map<String, Value>>>,
}

/// A turn of an exported session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct ExportedTurn {
    /// The turn as it is read.
    pub turn: AgentSessionTurn,
    /// What users say of it.
    pub feedback: Vec<TurnFeedback>,
    /// What was asked and answered, whole, with its files; for operators also what the work left.
    pub payloads: Vec<ExportedPayload>,
}

/// A payload of an exported turn. It has `Text` or `Base64`, or in an export with links the `Url`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct ExportedPayload {
    /// What it is.
    pub kind: PayloadKind,
    /// What a file that holds it would be called.
    pub name: String,
    /// Its place among the turn's objects.
    pub object: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Its media type; absent in an export with links.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mime_type: Option<String>,
    /// SHA-256 of its bytes; absent in an export with links.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sha256: Option<FileAddress>,
    /// What it holds, where that is text: UTF-8 without NUL.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text: Option<String>,
    /// What it holds otherwise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub base64: Option<String>,
    /// Where to read it, relative to the API's base.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub url: Option<String>,
}

/// What a payload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum PayloadKind {
    /// The whole request.
    Instruction,
    /// The whole answer.
    Answer,
    /// What there was of an answer when the turn was ended.
    PartialAnswer,
    /// A file of an answer.
    File,
    /// What the provider was sent in a model call.
    LlmRequest,
    /// What the provider answered to it.
    LlmResponse,
    /// What the turn came to, as the work left it.
    Outcome,
    /// A step of the work.
    Step,
    /// The client's tool results.
    ToolResults,
}

/// The last line of an org's export: one that lacks it was cut short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct ExportEnd {
    /// Names this format.
    pub format: ExportEndFormat,
    /// How many sessions came before it.
    pub session_count: u64,
    /// What to ask for the rest with; absent when these were all.
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
    /// The end.
    End(ExportEnd),
}

/// What an import came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct SessionImport {
    /// The sessions, in the order of the body.
    pub sessions: Vec<ImportedSession>,
}

/// A session that was imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct ImportedSession {
    /// The session.
    pub id: SessionId,
    /// What it was called in the export.
    pub exported_id: SessionId,
    /// How many turns it has.
    pub turn_count: u64,
}
