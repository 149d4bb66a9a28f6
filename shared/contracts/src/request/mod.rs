//! Requests: parsing and validation of everything that a client may send.
//!
//! A body is parsed into a tree that keeps its exact spelling. The field tables of the contract (`envelope.rs`, and
//! one per object) read the tree. The result is a valid value, or every violation at once, in document order. The
//! other request encodings ([`crate::encoding`]) build the same tree, so there is one set of rules.
//!
//! - Members are PascalCase or camelCase. A duplicate member is rejected.
//! - Null counts as absent, for every member of the contract.
//! - An unknown or server-owned name is rejected, whatever its value.
//!
//! Deliberately absent: the caller, the state of turns, and anything about models.

mod artifact;
pub(crate) mod base64;
mod canonical;
pub(crate) mod envelope;
mod exports;
mod feedback;
pub(crate) mod field_table;
mod image;
pub(crate) mod json;
pub mod limits;
mod rag;
mod relative_path;
mod rerun_and_fork;
mod server_owned;
mod session_edit;
mod tool_results;
pub(crate) mod value;
pub(crate) mod violations;

pub use artifact::{Artifact, Contents, Origin};
pub use envelope::members;
pub use exports::parse_exports;
pub use feedback::FeedbackRequest;
pub use field_table::{Presence, Scenario};
pub use image::{ClipboardImage, ImageType};
pub use rag::{RagCondition, RagOperator, RagValue};
pub use relative_path::{FileName, InvalidPath, RelativePath};
pub use rerun_and_fork::{ForkRequest, RerunRequest};
pub use session_edit::SessionEdit;
pub use value::is_mime_type;

use serde::Serialize;

use self::{
    json::{Json, ParseError},
    violations::Violations,
};
use crate::{
    error::{Error, ErrorCode},
    id::{AgentContextId, ConversationContextId, SessionId, TurnId},
    non_empty::NonEmpty,
    response::ToolResult,
};

/// A request in one of the two scenarios.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one per request, and the common variant is the large one"
)]
pub enum AgentExecuteRequest {
    /// A new turn.
    UserTurn(UserTurn),
    /// Tool results for a waiting turn.
    ToolContinuation(ToolContinuation),
}

/// A new turn. Created only by parsing, so it always has some input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UserTurn {
    /// The id of the session, chosen by the client.
    pub session_id: SessionId,
    /// The id of the turn, chosen by the client.
    pub turn_id: TurnId,
    /// The instruction, as Markdown. Never blank.
    pub instruction: Option<String>,
    /// Files to reason about.
    pub input_artifacts: Vec<Artifact>,
    /// Pasted images.
    pub clipboard_images: Vec<ClipboardImage>,
    /// Conditions that limit retrieval. All of them must hold.
    pub rag_scope: Vec<RagCondition>,
    /// The new solution context of the session. An empty text removes it.
    pub solution_context_text: Option<String>,
    /// The workspace. Advisory.
    pub workspace_id: Option<String>,
    /// The repository. Advisory.
    pub repo: Option<String>,
    /// The language. Advisory.
    pub language: Option<String>,
    /// True if the answer is streamed. Affects delivery only.
    pub streaming: bool,
    /// The id of the agent context.
    pub agent_context_id: Option<AgentContextId>,
    /// The id of the conversation context.
    pub conversation_context_id: Option<ConversationContextId>,
}

/// Tool results for a waiting turn. Created only by parsing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
#[non_exhaustive]
pub struct ToolContinuation {
    /// The session.
    pub session_id: SessionId,
    /// The waiting turn.
    pub turn_id: TurnId,
    /// The results, in the client's order.
    pub tool_results: NonEmpty<ToolResult>,
}

impl From<ToolContinuation> for AgentExecuteRequest {
    fn from(continuation: ToolContinuation) -> Self {
        Self::ToolContinuation(continuation)
    }
}

impl AgentExecuteRequest {
    /// Parses a JSON body of either scenario.
    ///
    /// # Errors
    /// Every violation, in document order, at most [`limits::MAX_REPORTED_VIOLATIONS`]. Never empty.
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
        match envelope::is_continuation(&json) {
            false => validate(&json, envelope::user_turn).map(Self::UserTurn),
            true => validate(&json, envelope::tool_continuation).map(Self::ToolContinuation),
        }
    }

    /// The session.
    #[must_use]
    pub fn session_id(&self) -> &SessionId {
        match self {
            Self::UserTurn(turn) => &turn.session_id,
            Self::ToolContinuation(continuation) => &continuation.session_id,
        }
    }

    /// The turn.
    #[must_use]
    pub fn turn_id(&self) -> &TurnId {
        match self {
            Self::UserTurn(turn) => &turn.turn_id,
            Self::ToolContinuation(continuation) => &continuation.turn_id,
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
        validate(&parse_json(json)?, envelope::user_turn)
    }
}

impl ToolContinuation {
    /// Parses a JSON body that must be a tool continuation.
    ///
    /// # Errors
    /// Every violation, in document order, at most [`limits::MAX_REPORTED_VIOLATIONS`]. Never empty.
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        validate(&parse_body(body)?, envelope::tool_continuation)
    }

    /// Parses the output of [`ToolContinuation::canonical_json`].
    ///
    /// # Errors
    /// Every violation. Text that this crate wrote has none.
    pub fn from_canonical(json: &[u8]) -> Result<Self, Vec<Error>> {
        validate(&parse_json(json)?, envelope::tool_continuation)
    }
}

fn parse_body(body: &[u8]) -> Result<Json<'_>, Vec<Error>> {
    check_body_size(body.len())?;
    parse_json(body)
}

/// Rejects a body of more than [`limits::MAX_BODY_BYTES`].
pub(crate) fn check_body_size(bytes: usize) -> Result<(), Vec<Error>> {
    if bytes > limits::MAX_BODY_BYTES {
        let limit = limits::MAX_BODY_BYTES;
        return Err(vec![Error::new(
            ErrorCode::PayloadTooLarge,
            format!("The body has {bytes} bytes, at most {limit} (4 MiB) are allowed"),
        )]);
    }
    Ok(())
}

fn parse_json(body: &[u8]) -> Result<Json<'_>, Vec<Error>> {
    Json::parse(body).map_err(|why| {
        let code = match why {
            ParseError::Empty => ErrorCode::BodyMissing,
            ParseError::TooDeep | ParseError::TooMany => ErrorCode::MemberTooLarge,
            ParseError::ByteOrderMark | ParseError::NotUtf8(_) | ParseError::NotJson(_) => {
                ErrorCode::BodyNotJson
            }
        };
        vec![Error::new(code, format!("The body {why}"))]
    })
}

/// Validates a tree with a reader. Returns the value only if there are no violations.
pub(crate) fn validate<T>(
    json: &Json<'_>,
    read: fn(&Json<'_>, &mut Violations) -> Option<T>,
) -> Result<T, Vec<Error>> {
    let mut violations = Violations::default();
    match read(json, &mut violations) {
        Some(value) if violations.is_clean() => Ok(value),
        // No value and no violation: a bug of the service.
        _ if violations.is_clean() => Err(vec![Error::from(ErrorCode::Internal)]),
        _ => Err(violations.into_errors()),
    }
}
