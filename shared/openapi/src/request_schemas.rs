//! Schemas of the requests, except for their length and count limits (see [`crate::bounds`]). The field tables of
//! [`contracts::request`] are authoritative. A test compares the members and their presence here with the table of the
//! envelope.

#![expect(dead_code, reason = "only the derive macro reads these types")]

use utoipa::ToSchema;

use contracts::string_schemas::{
    Hint, ImageData, ImageId, MimeType, RagKey, RagText, SessionName, ToolCallId,
};
use contracts::{
    id::{AgentContextId, ConversationContextId, SessionId, TurnId},
    read::Visibility,
    request::{FileName, RelativePath},
};

/// A user turn, or tool results if `ToolResults` is present.
#[derive(ToSchema)]
#[schema(as = AgentExecuteRequest)]
#[serde(untagged)]
pub enum AgentExecuteRequestSchema {
    /// A new turn.
    UserTurn(UserTurn),
    /// Tool results for a waiting turn.
    ToolContinuation(ToolContinuation),
}

/// Changes to a session: at least one member.
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase", min_properties = 1)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionEdit {
    /// Display name.
    name: Option<SessionName>,
    /// Description. An empty text removes it.
    description: Option<String>,
    /// Category, one line. An empty text removes it.
    category: Option<String>,
    /// Visibility within the org.
    visibility: Option<Visibility>,
    /// Version of the agent context to pin the session to. 0 removes the pin. For operators and agent editors.
    #[schema(minimum = 0)]
    agent_context_version: Option<u32>,
    /// Version of the conversation context to pin the session to. 0 removes the pin. For operators and agent editors.
    #[schema(minimum = 0)]
    conversation_context_version: Option<u32>,
}

/// A rollout of a version of a context.
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[serde(deny_unknown_fields)]
pub(crate) struct RolloutRequest {
    /// Number of the version.
    #[schema(minimum = 1)]
    version: u32,
    /// Percentage of the sessions. 0 ends the rollout.
    #[schema(minimum = 0, maximum = 100)]
    percent: u8,
}

/// A rollback of a context.
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[serde(deny_unknown_fields)]
pub(crate) struct RollbackRequest {
    /// Number of the version to restore.
    #[schema(minimum = 1)]
    version: u32,
}

/// A new turn, with at least one of `Instruction`, `InputArtifacts` and `ClipboardImages`.
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[serde(deny_unknown_fields)]
pub struct UserTurn {
    session_id: SessionId,
    turn_id: TurnId,
    /// Instruction of the user, as Markdown. Blank counts as absent.
    instruction: Option<String>,
    /// Files to reason about.
    input_artifacts: Option<Vec<InputArtifact>>,
    /// Pasted images.
    clipboard_images: Option<Vec<ClipboardImage>>,
    rag_scope: Option<RagScope>,
    /// New solution context of the session. An empty text removes it.
    solution_context_text: Option<String>,
    /// Advisory hint.
    workspace_id: Option<Hint>,
    /// Advisory hint.
    repo: Option<Hint>,
    /// Advisory hint.
    language: Option<Hint>,
    /// Set to `true` to stream the answer. Default: `false`.
    streaming: Option<bool>,
    agent_context_id: Option<AgentContextId>,
    conversation_context_id: Option<ConversationContextId>,
}

/// Tool results for a waiting turn. No other members are allowed.
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[serde(deny_unknown_fields)]
pub struct ToolContinuation {
    session_id: SessionId,
    turn_id: TurnId,
    /// One result per tool call, in the order of the calls.
    #[schema(min_items = 1)]
    tool_results: Vec<SubmittedResult>,
}

/// A request to rerun a turn as a new turn.
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[serde(deny_unknown_fields)]
pub(crate) struct RerunRequest {
    turn_id: TurnId,
    /// New instruction. Default: that of the original turn.
    #[schema(pattern = r"\S")]
    instruction: Option<String>,
    /// New files. Default: those of the original turn.
    input_artifacts: Option<Vec<InputArtifact>>,
    /// New pasted images. Default: those of the original turn.
    clipboard_images: Option<Vec<ClipboardImage>>,
    /// New conditions on retrieved chunks. Default: those of the original turn.
    rag_scope: Option<RagScope>,
    /// New solution context of the session. An empty text removes it. Default: that of the original turn.
    solution_context_text: Option<String>,
    /// Advisory hint. Default: that of the original turn.
    workspace_id: Option<Hint>,
    /// Advisory hint. Default: that of the original turn.
    repo: Option<Hint>,
    /// Advisory hint. Default: that of the original turn.
    language: Option<Hint>,
    /// Model to use, one of those that the conversation context allows. Default: the context's model.
    model: Option<Hint>,
    /// Key of the mode of this turn. The session keeps its mode. Default: that of the original turn.
    mode: Option<String>,
    /// Set to `true` to stream the answer. Default: `false`.
    streaming: Option<bool>,
}

/// A request to fork a session.
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkRequest {
    /// Id of the new session, chosen by the client.
    session_id: SessionId,
    /// Id of the completed turn to continue from.
    turn_id: TurnId,
    /// Display name of the new session. Default: that of the original session.
    name: Option<Hint>,
}

/// A user's feedback on a turn. Replaces the user's earlier feedback.
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[serde(deny_unknown_fields)]
pub(crate) struct FeedbackRequest {
    /// Rating of the answer from 1 (worst) to 5 (best).
    #[schema(minimum = 1, maximum = 5)]
    rating: u8,
    /// Short label for the reason, chosen by the client.
    #[schema(pattern = r"\S")]
    label: Option<String>,
    /// Comment in the user's words.
    note: Option<String>,
}

/// The result of a client tool: exactly one of `ResultJson` and `ErrorMessage`.
#[derive(ToSchema)]
#[serde(untagged)]
enum SubmittedResult {
    /// A successful tool call.
    Returned(ReturnedResult),
    /// A failed tool call. A failure is a valid result.
    Failed(FailedResult),
}

/// A successful tool call.
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[serde(deny_unknown_fields)]
struct ReturnedResult {
    /// Id of the tool call.
    tool_call_id: ToolCallId,
    /// Execution time in milliseconds. Fractions are rounded.
    #[schema(minimum = 0)]
    execution_ms: f64,
    /// Result, as a JSON text.
    #[schema(content_media_type = "application/json", pattern = r#"^[ \t\r\n]*[\[{"tfn0-9-]"#)]
    result_json: String,
}

/// A failed tool call.
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[serde(deny_unknown_fields)]
struct FailedResult {
    /// Id of the tool call.
    tool_call_id: ToolCallId,
    /// Execution time in milliseconds. Fractions are rounded.
    #[schema(minimum = 0)]
    execution_ms: f64,
    /// Error message.
    #[schema(pattern = r"\S")]
    error_message: String,
}

/// A file.
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[serde(deny_unknown_fields)]
struct InputArtifact {
    /// Path relative to the folder that is open in the client. Must not be absolute or leave the folder.
    relative_path: RelativePath,
    /// Bare file name.
    file_name: FileName,
    /// Contents in the given `Encoding`.
    contents: String,
    origin: Origin,
    mime_type: Option<MimeType>,
    language: Option<Hint>,
    encoding: Option<Encoding>,
}

/// Origin of a file.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
enum Origin {
    Ide,
    User,
}

/// Encoding of file contents. Default: `utf8`.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
enum Encoding {
    Utf8,
    Base64,
}

/// A pasted image.
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[serde(deny_unknown_fields)]
struct ClipboardImage {
    /// Client's id of the image, unique within the request.
    id: ImageId,
    mime_type: ImageMimeType,
    /// Image data, Base64 with the standard alphabet. The bytes must match `MimeType`.
    data_base64: ImageData,
}

/// Accepted image types.
#[derive(ToSchema)]
enum ImageMimeType {
    #[serde(rename = "image/png")]
    Png,
    #[serde(rename = "image/jpeg")]
    Jpeg,
    #[serde(rename = "image/gif")]
    Gif,
    #[serde(rename = "image/webp")]
    Webp,
}

/// Conditions that limit retrieval. All of them must hold. Advisory.
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[serde(deny_unknown_fields)]
struct RagScope {
    conditions: Vec<RagCondition>,
}

/// A condition of the retrieval scope.
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[serde(deny_unknown_fields)]
struct RagCondition {
    key: RagKey,
    operator: RagOperator,
    /// Values to compare with: any of them or none of them, depending on the operator.
    #[schema(min_items = 1)]
    values: Vec<RagValue>,
}

/// Comparison operator of a condition.
#[derive(ToSchema)]
enum RagOperator {
    #[serde(rename = "==")]
    Equals,
    #[serde(rename = "!=")]
    NotEquals,
    #[serde(rename = "contains")]
    Contains,
    #[serde(rename = "does_not_contain")]
    DoesNotContain,
}

/// A string, an integer or a boolean.
#[derive(ToSchema)]
#[serde(untagged)]
enum RagValue {
    Text(RagText),
    Integer(i64),
    Flag(bool),
}

#[cfg(test)]
mod tests {
    use utoipa::{
        PartialSchema,
        openapi::{RefOr, Schema},
    };

    use super::*;
    use contracts::request::{Presence, Scenario, members};

    /// The members of a schema and their presence, in the order of the field table.
    fn documented<T: PartialSchema>() -> Vec<(&'static str, Presence)> {
        let RefOr::T(Schema::Object(object)) = T::schema() else { panic!("not an object") };
        let found: Vec<_> = members(Scenario::UserTurn)
            .map(|(name, _)| name)
            .filter(|name| object.properties.contains_key(*name))
            .map(|name| match object.required.contains(&name.to_owned()) {
                true => (name, Presence::Required),
                false => (name, Presence::Optional),
            })
            .collect();
        assert_eq!(found.len(), object.properties.len(), "a member that the table does not have");
        found
    }

    fn accepted(scenario: Scenario) -> Vec<(&'static str, Presence)> {
        members(scenario).filter(|(_, presence)| *presence != Presence::Forbidden).collect()
    }

    #[test]
    fn schemas_match_field_tables() {
        assert_eq!(documented::<UserTurn>(), accepted(Scenario::UserTurn));
        assert_eq!(documented::<ToolContinuation>(), accepted(Scenario::ToolContinuation));
    }
}
