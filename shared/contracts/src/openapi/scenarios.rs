//! The two request scenarios as schemas (AGN-034), but for how long and many their members may be (see
//! [`super::bounds`]). The tables of [`crate::request`] decide; a test holds the members and their presence
//! here to the envelope's table.

#![expect(dead_code, reason = "the types are read by the macro alone, never made")]

use utoipa::ToSchema;

use super::strings::{Hint, ImageData, ImageId, MimeType, RagKey, RagText, SessionName, ToolCallId};
use crate::{
    id::{AgentContextId, ConversationContextId, SessionId, TurnId},
    read::Visibility,
    request::{FileName, RelativePath},
};

/// Exactly one of the two scenarios, told apart by the presence of `ToolResults` (AGN-034 §3).
#[derive(ToSchema)]
#[schema(as = AgentExecuteRequest)]
#[serde(untagged)]
pub enum AgentExecuteRequestSchema {
    /// A new turn.
    UserTurn(UserTurn),
    /// Results for a turn that waits for them.
    ToolContinuation(ToolContinuation),
}

/// What is to be changed of a session: at least one member (DD-002A).
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase", min_properties = 1)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionEdit {
    /// What people call it.
    name: Option<SessionName>,
    /// What it is about; an empty text removes it.
    description: Option<String>,
    /// Who of the org may see it (DD-003).
    visibility: Option<Visibility>,
}

/// A new turn, with at least one of `Instruction`, `InputArtifacts` and `ClipboardImages` (AGN-034 §2.1).
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[serde(deny_unknown_fields)]
pub struct UserTurn {
    session_id: SessionId,
    turn_id: TurnId,
    /// What the user says, Markdown; blank counts as absent (AGN-034 §4.1).
    instruction: Option<String>,
    /// Files to reason about (AGN-034 §4.2).
    input_artifacts: Option<Vec<InputArtifact>>,
    /// Pasted images (AGN-034 §4.3).
    clipboard_images: Option<Vec<ClipboardImage>>,
    rag_scope: Option<RagScope>,
    /// Replaces the session's solution context (AGN-034 §4.5).
    solution_context_text: Option<String>,
    /// Advisory (AGN-034 §4.6).
    workspace_id: Option<Hint>,
    /// Advisory (AGN-034 §4.6).
    repo: Option<Hint>,
    /// Advisory (AGN-034 §4.6).
    language: Option<Hint>,
    /// Whether the answer is streamed; false when absent (AGN-034 §4.7).
    streaming: Option<bool>,
    agent_context_id: Option<AgentContextId>,
    conversation_context_id: Option<ConversationContextId>,
}

/// Results for a turn that waits for them; nothing else may be sent (AGN-034 §2.2).
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[serde(deny_unknown_fields)]
pub struct ToolContinuation {
    session_id: SessionId,
    turn_id: TurnId,
    /// One result per call, in the order of the calls (AGN-034 §5).
    #[schema(min_items = 1)]
    tool_results: Vec<SubmittedResult>,
}

/// Runs a turn again, as a new one (DD-006).
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[serde(deny_unknown_fields)]
pub(super) struct RerunRequest {
    turn_id: TurnId,
    /// What the user says now; absent: what was said then.
    #[schema(pattern = r"\S")]
    instruction: Option<String>,
    /// The model that is to answer, one of those that the session's conversation context names; absent: the context's
    /// own.
    model: Option<Hint>,
    /// The key of the mode that the turn is to begin in; absent: the one that it began in then.
    mode: Option<String>,
    /// Whether the answer is streamed; false when absent (AGN-034 §4.7).
    streaming: Option<bool>,
}

/// Makes a session that goes on from a turn of another one.
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[serde(deny_unknown_fields)]
pub(super) struct ForkRequest {
    /// The new session, minted by the client.
    session_id: SessionId,
    /// The completed turn to go on from.
    turn_id: TurnId,
    /// What people call it; absent: as the other one.
    name: Option<Hint>,
}

/// What a user says of a turn, in the place of what that user said before.
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[serde(deny_unknown_fields)]
pub(super) struct FeedbackRequest {
    /// How good the answer was: 1 is worst, 5 best.
    #[schema(minimum = 1, maximum = 5)]
    rating: u8,
    /// A word for why, of the client's own choice.
    #[schema(pattern = r"\S")]
    label: Option<String>,
    /// The user's own words.
    note: Option<String>,
}

/// What a client's tool came to: exactly one of `ResultJson` and `ErrorMessage` (AGN-034 §5).
#[derive(ToSchema)]
#[serde(untagged)]
enum SubmittedResult {
    /// The tool returned something.
    Returned(ReturnedResult),
    /// The tool failed; a valid result all the same.
    Failed(FailedResult),
}

/// The tool returned something.
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[serde(deny_unknown_fields)]
struct ReturnedResult {
    /// The call that was run.
    tool_call_id: ToolCallId,
    /// How long it took, in milliseconds; a fraction is rounded.
    #[schema(minimum = 0)]
    execution_ms: f64,
    /// What it returned, a JSON text.
    #[schema(content_media_type = "application/json", pattern = r#"^[ \t\r\n]*[\[{"tfn0-9-]"#)]
    result_json: String,
}

/// The tool failed.
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[serde(deny_unknown_fields)]
struct FailedResult {
    /// The call that was run.
    tool_call_id: ToolCallId,
    /// How long it took, in milliseconds; a fraction is rounded.
    #[schema(minimum = 0)]
    execution_ms: f64,
    /// Why.
    #[schema(pattern = r"\S")]
    error_message: String,
}

/// A file (AGN-034 §4.2).
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[serde(deny_unknown_fields)]
struct InputArtifact {
    /// Relative to the folder that is open in the client; never absolute, never leaving it.
    relative_path: RelativePath,
    /// Its bare name.
    file_name: FileName,
    /// Its contents, as `Encoding` says.
    contents: String,
    origin: Origin,
    mime_type: Option<MimeType>,
    language: Option<Hint>,
    encoding: Option<Encoding>,
}

/// Where a file comes from.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
enum Origin {
    Ide,
    User,
}

/// How contents are spelled; `utf8` when absent.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
enum Encoding {
    Utf8,
    Base64,
}

/// A pasted image (AGN-034 §4.3).
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[serde(deny_unknown_fields)]
struct ClipboardImage {
    /// The client's name for it; `clipboard-1` and so on, by its place, where there is none.
    id: Option<ImageId>,
    mime_type: ImageMimeType,
    /// Base64 of the standard alphabet; the bytes must be what `MimeType` says.
    data_base64: ImageData,
}

/// The kinds of image that are accepted.
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

/// What retrieval may look at; all conditions hold, advisory (AGN-034 §4.4).
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[serde(deny_unknown_fields)]
struct RagScope {
    conditions: Vec<RagCondition>,
}

/// One condition.
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[serde(deny_unknown_fields)]
struct RagCondition {
    key: RagKey,
    operator: RagOperator,
    /// Any of these, or none of these, as the operator says.
    #[schema(min_items = 1)]
    values: Vec<RagValue>,
}

/// How a condition compares.
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

/// A keyword, a whole number or a flag.
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
    use crate::request::{
        envelope::MEMBERS,
        table::{Presence, Scenario},
    };

    /// The members of a schema and whether they are required, in the table's order.
    fn members<T: PartialSchema>() -> Vec<(&'static str, Presence)> {
        let RefOr::T(Schema::Object(object)) = T::schema() else { panic!("not an object") };
        let found: Vec<_> = MEMBERS
            .iter()
            .filter(|row| object.properties.contains_key(row.name))
            .map(|row| match object.required.contains(&row.name.to_owned()) {
                true => (row.name, Presence::Required),
                false => (row.name, Presence::Optional),
            })
            .collect();
        assert_eq!(found.len(), object.properties.len(), "a member that the table does not have");
        found
    }

    fn table(scenario: Scenario) -> Vec<(&'static str, Presence)> {
        let rows = MEMBERS.iter().map(|row| (row.name, row.presence(scenario)));
        rows.filter(|(_, presence)| *presence != Presence::Forbidden).collect()
    }

    #[test]
    fn the_schemas_have_the_members_of_the_table() {
        assert_eq!(members::<UserTurn>(), table(Scenario::UserTurn));
        assert_eq!(members::<ToolContinuation>(), table(Scenario::ToolContinuation));
    }
}
