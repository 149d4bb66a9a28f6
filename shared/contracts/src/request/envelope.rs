//! The top-level members of a request, as a table: the members that each scenario requires, allows and forbids.

#[cfg(feature = "openapi")]
use super::schemas;
use super::{
    artifact::ARTIFACTS,
    body::{JsonRequest, parse_body, parse_json, validate},
    chat_message,
    execute::{AgentExecuteRequest, ToolContinuation, UserTurn},
    field_table::{
        Field,
        Presence::{Forbidden, Optional, Required},
        Scenario, Slot, documented, peek, read_object, slot,
    },
    image::IMAGES,
    json::Json,
    kind::{AGENT_CONTEXT_ID, CONVERSATION_CONTEXT_ID, FLAG, HINT, SESSION_ID, TURN_ID, text},
    limits::{MAX_INSTRUCTION_CHARS, MAX_SOLUTION_CONTEXT_CHARS},
    rag::SCOPE,
    tool_results::TOOL_RESULTS,
    turn_input::TurnInput,
    turn_options::TurnOptions,
    uniqueness,
    violations::{Location, Violations},
};
#[cfg(feature = "openapi")]
use crate::schema::Schema;
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
/// The columns: name, description, presence in a user turn, presence in a tool continuation, value.
#[rustfmt::skip]
pub(crate) const FIELDS: &[Field<Draft>] = &[
    Field::new("SessionId", "", Required, Required, slot!(SESSION_ID, Draft, session_id)),
    Field::new("TurnId", "", Required, Required, slot!(TURN_ID, Draft, turn_id)),
    Field::new("Instruction", "Instruction of the user, as Markdown. Blank counts as absent.", Optional, Forbidden,
        &Slot(text(MAX_INSTRUCTION_CHARS), |draft: &mut Draft, text| match text {
            Some(text) => draft.input.instruction = non_blank(text),
            None => draft.input_refused = true,
        })),
    Field::new("InputArtifacts", "Files to reason about.", Optional, Forbidden,
        &Slot(ARTIFACTS, |draft: &mut Draft, artifacts| {
            draft.input_refused |= artifacts.is_none();
            draft.input.input_artifacts = artifacts;
        })),
    Field::new("ClipboardImages", "Pasted images.", Optional, Forbidden,
        &Slot(IMAGES, |draft: &mut Draft, images| {
            draft.input_refused |= images.is_none();
            draft.input.clipboard_images = images;
        })),
    Field::new("RagScope", "", Optional, Forbidden,
        slot!(SCOPE, Draft, input.rag_scope)),
    Field::new("SolutionContextText", "New solution context of the session. An empty text removes it.", Optional, Forbidden,
        slot!(text(MAX_SOLUTION_CONTEXT_CHARS), Draft, input.solution_context_text)),
    Field::new("WorkspaceId", "Advisory hint.", Optional, Forbidden,
        slot!(HINT, Draft, input.workspace_id)),
    Field::new("Repo", "Advisory hint.", Optional, Forbidden,
        slot!(HINT, Draft, input.repo)),
    Field::new("Language", "Advisory hint.", Optional, Forbidden,
        slot!(HINT, Draft, input.language)),
    Field::new("Streaming", "Set to `true` to stream the answer. Default: `false`.", Optional, Forbidden,
        &Slot(FLAG, |draft: &mut Draft, flag| draft.input.streaming = flag.unwrap_or_default()))
    .with_alternative(STREAM_TOOL_RESULTS),
    Field::new("AgentContextId", "", Optional, Forbidden,
        slot!(AGENT_CONTEXT_ID, Draft, agent_context_id)),
    Field::new("ConversationContextId", "", Optional, Forbidden,
        slot!(CONVERSATION_CONTEXT_ID, Draft, conversation_context_id)),
    Field::new("ToolResults", "One result per tool call, in the order of the calls.", Forbidden, Required,
        slot!(TOOL_RESULTS, Draft, tool_results)),
];

documented!(
    AgentExecuteRequest,
    "AgentExecuteRequest",
    schemas::one_of(
        "A user turn, or tool results if `ToolResults` is present.",
        [("UserTurn", "A new turn."), ("ToolContinuation", "Tool results for a waiting turn."),]
    ),
    |all| {
        let scenarios =
            [Schema::of::<UserTurn>("UserTurn"), Schema::of::<ToolContinuation>("ToolContinuation")];
        for scenario in scenarios {
            (scenario.collect)(scenario.name, all);
        }
    }
);
documented!(
    UserTurn,
    "UserTurn",
    schemas::object_schema(
        "A new turn, with at least one of `Instruction`, `InputArtifacts` and `ClipboardImages`.",
        FIELDS,
        Scenario::UserTurn
    ),
    |all| schemas::collect(FIELDS, all)
);
documented!(
    ToolContinuation,
    "ToolContinuation",
    schemas::object_schema(
        "Tool results for a waiting turn. No other members are allowed.",
        FIELDS,
        Scenario::ToolContinuation
    ),
    |all| schemas::collect(FIELDS, all)
);

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
        let (options, ancestry) = (TurnOptions::take(&mut json)?, chat_message::take(&mut json)?);
        // A turn whose ancestry ends with results needs no input of its own.
        let read = if ancestry.is_empty() { stored_user_turn } else { continued_user_turn };
        validate(&json, read).map(|turn| Self { options, ancestry, ..turn })
    }
}

impl JsonRequest for ToolContinuation {
    fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        Self::parse(body)
    }

    fn turn(&self) -> Option<(&SessionId, &TurnId)> {
        Some((&self.session_id, &self.turn_id))
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
        let mut json = parse_json(json)?;
        let message = chat_message::take_text(&mut json, "Message")?;
        validate(&json, tool_continuation).map(|continuation| Self { message, ..continuation })
    }
}

/// Returns the instruction unless it is blank. A blank instruction conveys no intent, so it counts as absent.
pub(super) fn non_blank(text: String) -> Option<String> {
    Some(text).filter(|text| !text.trim().is_empty())
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
    from_draft(draft)
}

/// Reads a user turn that was accepted before, with messages before its input.
fn continued_user_turn(json: &Json<'_>, violations: &mut Violations) -> Option<UserTurn> {
    let mut draft = Draft::default();
    read_object(json, FIELDS, Scenario::UserTurn, &Location::ROOT, &mut draft, violations);
    from_draft(draft)
}

fn from_draft(draft: Draft) -> Option<UserTurn> {
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
        message: None,
    })
}
