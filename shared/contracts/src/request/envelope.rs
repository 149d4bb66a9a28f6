//! The envelope of AGN-034 §2 and §3, as a table: what each scenario requires, allows and forbids.

use super::{
    ToolContinuation, UserTurn,
    artifact::{self, Artifact},
    image::{self, ClipboardImage},
    json::Json,
    limits::{MAX_ARTIFACTS, MAX_IMAGES, MAX_INSTRUCTION_CHARS, MAX_SOLUTION_CONTEXT_CHARS},
    rag::{self, RagCondition},
    report::{At, Report},
    table::{
        Member,
        Presence::{Forbidden, Optional, Required},
        Scenario, peek, read_object,
    },
    tool_results,
    value::{boolean, hint, id, list, text},
};
use crate::{
    error::ErrorCode,
    id::{AgentContextId, ConversationContextId, SessionId, TurnId},
    non_empty::NonEmpty,
    response::ToolResult,
};

#[derive(Default)]
pub(crate) struct Draft {
    session_id: Option<SessionId>,
    turn_id: Option<TurnId>,
    instruction: Option<String>,
    input_artifacts: Vec<Artifact>,
    clipboard_images: Vec<ClipboardImage>,
    // Some input was there and refused, so that its absence is not what has to be mended.
    input_refused: bool,
    rag_scope: Vec<RagCondition>,
    solution_context_text: Option<String>,
    workspace_id: Option<String>,
    repo: Option<String>,
    language: Option<String>,
    streaming: bool,
    agent_context_id: Option<AgentContextId>,
    conversation_context_id: Option<ConversationContextId>,
    tool_results: Option<NonEmpty<ToolResult>>,
}

/// Every member that a client may send.
///
/// The columns: name, presence in a user turn (§2.1), presence in a tool continuation (§2.2), how the value is read.
#[rustfmt::skip]
pub(crate) const MEMBERS: &[Member<Draft>] = &[
    Member::new("SessionId", Required, Required, |json, at, draft, report| {
        draft.session_id = id(json, at, report);
    }),
    Member::new("TurnId", Required, Required, |json, at, draft, report| {
        draft.turn_id = id(json, at, report);
    }),
    Member::new("Instruction", Optional, Forbidden, |json, at, draft, report| {
        match text(json, MAX_INSTRUCTION_CHARS, at, report) {
            Some(text) => draft.instruction = says_something(text),
            None => draft.input_refused = true,
        }
    }),
    Member::new("InputArtifacts", Optional, Forbidden, |json, at, draft, report| {
        match list(json, MAX_ARTIFACTS, at, report, artifact::read) {
            Some(artifacts) => draft.input_artifacts = artifacts,
            None => draft.input_refused = true,
        }
    }),
    Member::new("ClipboardImages", Optional, Forbidden, |json, at, draft, report| {
        match list(json, MAX_IMAGES, at, report, image::read) {
            Some(images) => draft.clipboard_images = images,
            None => draft.input_refused = true,
        }
    }),
    Member::new("RagScope", Optional, Forbidden, |json, at, draft, report| {
        draft.rag_scope = rag::read(json, at, report).unwrap_or_default();
    }),
    Member::new("SolutionContextText", Optional, Forbidden, |json, at, draft, report| {
        draft.solution_context_text = text(json, MAX_SOLUTION_CONTEXT_CHARS, at, report).map(str::to_owned);
    }),
    Member::new("WorkspaceId", Optional, Forbidden, |json, at, draft, report| {
        draft.workspace_id = hint(json, at, report);
    }),
    Member::new("Repo", Optional, Forbidden, |json, at, draft, report| {
        draft.repo = hint(json, at, report);
    }),
    Member::new("Language", Optional, Forbidden, |json, at, draft, report| {
        draft.language = hint(json, at, report);
    }),
    Member::new("Streaming", Optional, Forbidden, |json, at, draft, report| {
        draft.streaming = boolean(json, at, report).unwrap_or_default();
    }),
    Member::new("AgentContextId", Optional, Forbidden, |json, at, draft, report| {
        draft.agent_context_id = id(json, at, report);
    }),
    Member::new("ConversationContextId", Optional, Forbidden, |json, at, draft, report| {
        draft.conversation_context_id = id(json, at, report);
    }),
    Member::new("ToolResults", Forbidden, Required, |json, at, draft, report| {
        draft.tool_results = tool_results::read(json, at, report);
    }),
];

/// A blank instruction counts as absent (AGN-034 §4.1): it conveys no intent.
pub(super) fn says_something(text: &str) -> Option<String> {
    (!text.trim().is_empty()).then(|| text.to_owned())
}

/// Whether a body is a tool continuation: exactly when `ToolResults` is there (AGN-034 §3).
pub(super) fn is_continuation(json: &Json<'_>) -> bool {
    peek(json, "ToolResults").any(|value| !matches!(value, Json::Null))
}

/// Reads a user turn (AGN-034 §2.1).
pub(crate) fn user_turn(json: &Json<'_>, report: &mut Report) -> Option<UserTurn> {
    let mut draft = Draft::default();
    read_object(json, MEMBERS, Scenario::UserTurn, &At::ROOT, &mut draft, report);
    let has_input = draft.instruction.is_some()
        || !draft.input_artifacts.is_empty()
        || !draft.clipboard_images.is_empty();
    if !has_input && !draft.input_refused && matches!(json, Json::Object(_)) {
        report.add(
            ErrorCode::InputRequired,
            &At::ROOT,
            "must hold at least one of Instruction, InputArtifacts and ClipboardImages, not blank \
             or empty",
        );
    }
    Some(UserTurn {
        session_id: draft.session_id?,
        turn_id: draft.turn_id?,
        instruction: draft.instruction,
        input_artifacts: draft.input_artifacts,
        clipboard_images: draft.clipboard_images,
        rag_scope: draft.rag_scope,
        solution_context_text: draft.solution_context_text,
        workspace_id: draft.workspace_id,
        repo: draft.repo,
        language: draft.language,
        streaming: draft.streaming,
        agent_context_id: draft.agent_context_id,
        conversation_context_id: draft.conversation_context_id,
    })
}

/// Reads a tool continuation (AGN-034 §2.2).
pub(crate) fn tool_continuation(json: &Json<'_>, report: &mut Report) -> Option<ToolContinuation> {
    let mut draft = Draft::default();
    read_object(json, MEMBERS, Scenario::ToolContinuation, &At::ROOT, &mut draft, report);
    Some(ToolContinuation {
        session_id: draft.session_id?,
        turn_id: draft.turn_id?,
        tool_results: draft.tool_results?,
    })
}
