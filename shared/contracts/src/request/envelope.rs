//! The top-level members of a request, as a table: the members that each scenario requires, allows and forbids.

use super::{
    artifact,
    body::{parse_body, parse_json, validate},
    execute::{AgentExecuteRequest, ToolContinuation, UserTurn},
    field_table::{
        Field,
        Presence::{self, Forbidden, Optional, Required},
        Scenario, peek, read_object,
    },
    image,
    json::Json,
    limits::{MAX_ARTIFACTS, MAX_IMAGES, MAX_INSTRUCTION_CHARS, MAX_SOLUTION_CONTEXT_CHARS},
    rag, tool_results,
    turn_input::TurnInput,
    turn_options::TurnOptions,
    uniqueness,
    value::{boolean, hint, id, list, text},
    violations::{Location, Violations},
};
use crate::{
    error::{Error, ErrorCode},
    id::{AgentContextId, ConversationContextId, SessionId, TurnId},
    non_empty::NonEmpty,
    response::ToolResult,
};

#[derive(Default)]
pub(crate) struct Draft {
    session_id: Option<SessionId>,
    turn_id: Option<TurnId>,
    input: TurnInput,
    // Set if an input was present but invalid, so that it isn't also reported as missing.
    input_refused: bool,
    agent_context_id: Option<AgentContextId>,
    conversation_context_id: Option<ConversationContextId>,
    tool_results: Option<NonEmpty<ToolResult>>,
}

/// How to stream the rest of a turn that waited for tool results.
const STREAM_TOOL_RESULTS: &str =
    "leave it out, and to stream, send the header Last-Event-ID with the id of the last event, or with 0";

/// Every member that a client may send.
///
/// The columns: name, presence in a user turn, presence in a tool continuation, reader of the value.
#[rustfmt::skip]
pub(crate) const FIELDS: &[Field<Draft>] = &[
    Field::new("SessionId", Required, Required, |json, at, draft, violations| {
        draft.session_id = id(json, at, violations);
    }),
    Field::new("TurnId", Required, Required, |json, at, draft, violations| {
        draft.turn_id = id(json, at, violations);
    }),
    Field::new("Instruction", Optional, Forbidden, |json, at, draft, violations| {
        match text(json, MAX_INSTRUCTION_CHARS, at, violations) {
            Some(text) => draft.input.instruction = non_blank(text),
            None => draft.input_refused = true,
        }
    }),
    Field::new("InputArtifacts", Optional, Forbidden, |json, at, draft, violations| {
        match list(json, MAX_ARTIFACTS, at, violations, artifact::read) {
            Some(artifacts) => draft.input.input_artifacts = Some(artifacts),
            None => draft.input_refused = true,
        }
    }),
    Field::new("ClipboardImages", Optional, Forbidden, |json, at, draft, violations| {
        match list(json, MAX_IMAGES, at, violations, image::read) {
            Some(images) => draft.input.clipboard_images = Some(images),
            None => draft.input_refused = true,
        }
    }),
    Field::new("RagScope", Optional, Forbidden, |json, at, draft, violations| {
        draft.input.rag_scope = rag::read(json, at, violations);
    }),
    Field::new("SolutionContextText", Optional, Forbidden, |json, at, draft, violations| {
        draft.input.solution_context_text = text(json, MAX_SOLUTION_CONTEXT_CHARS, at, violations).map(str::to_owned);
    }),
    Field::new("WorkspaceId", Optional, Forbidden, |json, at, draft, violations| {
        draft.input.workspace_id = hint(json, at, violations);
    }),
    Field::new("Repo", Optional, Forbidden, |json, at, draft, violations| {
        draft.input.repo = hint(json, at, violations);
    }),
    Field::new("Language", Optional, Forbidden, |json, at, draft, violations| {
        draft.input.language = hint(json, at, violations);
    }),
    Field::new("Streaming", Optional, Forbidden, |json, at, draft: &mut Draft, violations| {
        draft.input.streaming = boolean(json, at, violations).unwrap_or_default();
    })
    .with_alternative(STREAM_TOOL_RESULTS),
    Field::new("AgentContextId", Optional, Forbidden, |json, at, draft, violations| {
        draft.agent_context_id = id(json, at, violations);
    }),
    Field::new("ConversationContextId", Optional, Forbidden, |json, at, draft, violations| {
        draft.conversation_context_id = id(json, at, violations);
    }),
    Field::new("ToolResults", Forbidden, Required, |json, at, draft, violations| {
        draft.tool_results = tool_results::read(json, at, violations);
    }),
];

impl AgentExecuteRequest {
    /// Parses a JSON body of either scenario.
    ///
    /// # Errors
    /// Every violation, in document order, at most [`super::limits::MAX_REPORTED_VIOLATIONS`]. Never empty.
    ///
    /// # Examples
    ///
    /// ```
    /// use contracts::{AgentExecuteRequest, ErrorCode};
    ///
    /// let body = br#"{"SessionId": "s1", "TurnId": "t1", "Instruction": "What is a lease?"}"#;
    /// let request = AgentExecuteRequest::parse(body).expect("a user turn");
    /// assert!(matches!(&request, AgentExecuteRequest::UserTurn(turn) if turn.input_artifacts.is_empty()));
    /// assert_eq!(request.turn_id().as_str(), "t1");
    ///
    /// // Everything that is wrong is reported at once, each with the member it is about.
    /// let body = br#"{"SessionId": "no/id", "Instruction": "What is a lease?", "Mode": "general"}"#;
    /// let errors = AgentExecuteRequest::parse(body).expect_err("three violations");
    /// let found: Vec<_> = errors.iter().map(|error| (error.error_code, error.details.as_deref())).collect();
    /// assert_eq!(
    ///     found,
    ///     [
    ///         (ErrorCode::MemberInvalid, Some("SessionId")),
    ///         (ErrorCode::MemberForbidden, Some("Mode")),
    ///         (ErrorCode::MemberRequired, Some("TurnId")),
    ///     ]
    /// );
    /// ```
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        let json = parse_body(body)?;
        match is_continuation(&json) {
            false => validate(&json, user_turn).map(Self::UserTurn),
            true => validate(&json, tool_continuation).map(Self::ToolContinuation),
        }
    }
}

impl UserTurn {
    /// Parses the output of [`UserTurn::canonical_json`]. The size limit of a body doesn't apply, because the
    /// canonical form may be longer than the original request.
    ///
    /// # Errors
    /// Every violation. Text that this crate wrote has none.
    pub fn from_canonical(json: &[u8]) -> Result<Self, Vec<Error>> {
        let mut json = parse_json(json)?;
        let options = TurnOptions::take(&mut json)?;
        validate(&json, stored_user_turn).map(|turn| Self { options, ..turn })
    }
}

impl ToolContinuation {
    /// Parses a JSON body that must be a tool continuation.
    ///
    /// # Errors
    /// Every violation, in document order, at most [`super::limits::MAX_REPORTED_VIOLATIONS`]. Never empty.
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        validate(&parse_body(body)?, tool_continuation)
    }

    /// Parses the output of [`ToolContinuation::canonical_json`].
    ///
    /// # Errors
    /// Every violation. Text that this crate wrote has none.
    pub fn from_canonical(json: &[u8]) -> Result<Self, Vec<Error>> {
        validate(&parse_json(json)?, tool_continuation)
    }
}

/// Returns the members of an execute request and their presence in a scenario, for a document that describes them.
pub fn members(scenario: Scenario) -> impl Iterator<Item = (&'static str, Presence)> {
    FIELDS.iter().map(move |field| (field.name, field.presence(scenario)))
}

/// Returns the instruction unless it is blank. A blank instruction conveys no intent, so it counts as absent.
pub(super) fn non_blank(text: &str) -> Option<String> {
    (!text.trim().is_empty()).then(|| text.to_owned())
}

/// True if a body is a tool continuation, which is the case exactly if `ToolResults` is present.
fn is_continuation(json: &Json<'_>) -> bool {
    peek(json, "ToolResults").any(|value| !matches!(value, Json::Null))
}

/// Reads a user turn.
pub(crate) fn user_turn(json: &Json<'_>, violations: &mut Violations) -> Option<UserTurn> {
    let turn = stored_user_turn(json, violations);
    uniqueness::check(json, violations);
    turn
}

/// Reads a user turn that was accepted before, maybe by an older version with fewer rules.
fn stored_user_turn(json: &Json<'_>, violations: &mut Violations) -> Option<UserTurn> {
    let mut draft = Draft::default();
    read_object(json, FIELDS, Scenario::UserTurn, &Location::ROOT, &mut draft, violations);
    let has_input = draft.input.instruction.is_some()
        || draft.input.input_artifacts.as_ref().is_some_and(|artifacts| !artifacts.is_empty())
        || draft.input.clipboard_images.as_ref().is_some_and(|images| !images.is_empty());
    if !has_input && !draft.input_refused && matches!(json, Json::Object(_)) {
        violations.add(
            ErrorCode::InputRequired,
            &Location::ROOT,
            "must hold at least one of Instruction, InputArtifacts and ClipboardImages, not blank \
             or empty",
        );
    }
    Some(UserTurn {
        agent_context_id: draft.agent_context_id,
        conversation_context_id: draft.conversation_context_id,
        ..UserTurn::new(draft.session_id?, draft.turn_id?, draft.input)
    })
}

/// Reads a tool continuation.
pub(crate) fn tool_continuation(json: &Json<'_>, violations: &mut Violations) -> Option<ToolContinuation> {
    let mut draft = Draft::default();
    read_object(json, FIELDS, Scenario::ToolContinuation, &Location::ROOT, &mut draft, violations);
    Some(ToolContinuation {
        session_id: draft.session_id?,
        turn_id: draft.turn_id?,
        tool_results: draft.tool_results?,
    })
}
