//! `AgentExecuteRequest` (AGN-034): what a client may send, checked to the letter.
//!
//! A body is read into a tree that keeps what was written, the tree is read by the tables of the
//! contract (`envelope.rs` and one per object), and what comes out is a value that can't be wrong, or
//! every violation at once, in document order. The other calling shapes ([`crate::shape`]) make
//! the same tree, so there is one set of rules.
//!
//! - Members are PascalCase or camelCase; a member that is there twice is refused.
//! - Null counts as absent, for every member the contract knows.
//! - A name the contract does not know, or that the server owns, is refused whatever its value.
//!
//! Deliberately absent: who calls, what a turn's state allows, and anything about a model.

mod again;
mod artifact;
pub(crate) mod base64;
mod canonical;
pub(crate) mod envelope;
mod exports;
mod feedback;
mod image;
pub(crate) mod json;
pub mod limits;
mod rag;
mod relative_path;
pub(crate) mod report;
mod server_owned;
mod session_edit;
pub(crate) mod table;
mod tool_results;
pub(crate) mod value;

pub use again::{ForkRequest, RerunRequest};
pub use artifact::{Artifact, Contents, Origin};
pub use exports::exports;
pub use feedback::FeedbackRequest;
pub use image::{ClipboardImage, ImageType};
pub use rag::{RagCondition, RagOperator, RagValue};
pub use relative_path::{FileName, InvalidPath, RelativePath};
pub use session_edit::SessionEdit;
pub use value::is_mime_type;

use serde::Serialize;

use self::{
    json::{Json, Unreadable},
    report::Report,
};
use crate::{
    error::{Error, ErrorCode},
    id::{AgentContextId, ConversationContextId, SessionId, TurnId},
    non_empty::NonEmpty,
    response::ToolResult,
};

/// Exactly one of the two scenarios (AGN-034 §2).
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one per request, and the common variant is the large one"
)]
pub enum AgentExecuteRequest {
    /// A new turn (AGN-034 §2.1).
    UserTurn(UserTurn),
    /// Results for a turn that waits for them (AGN-034 §2.2).
    ToolContinuation(ToolContinuation),
}

/// A new turn (AGN-034 §2.1). Only parsing makes one, so there is always some input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UserTurn {
    /// The session, minted by the client.
    pub session_id: SessionId,
    /// The turn, minted by the client.
    pub turn_id: TurnId,
    /// What the user says, Markdown; absent rather than blank (AGN-034 §4.1).
    pub instruction: Option<String>,
    /// Files to reason about (AGN-034 §4.2).
    pub input_artifacts: Vec<Artifact>,
    /// Pasted images (AGN-034 §4.3).
    pub clipboard_images: Vec<ClipboardImage>,
    /// What retrieval may look at; all conditions hold (AGN-034 §4.4).
    pub rag_scope: Vec<RagCondition>,
    /// Replaces the session's solution context; an empty text removes it (AGN-034 §4.5).
    pub solution_context_text: Option<String>,
    /// The workspace; advisory (AGN-034 §4.6).
    pub workspace_id: Option<String>,
    /// The repository; advisory (AGN-034 §4.6).
    pub repo: Option<String>,
    /// The language; advisory (AGN-034 §4.6).
    pub language: Option<String>,
    /// Whether the answer is streamed; delivery only (AGN-034 §4.7).
    pub streaming: bool,
    /// The agent context, by id.
    pub agent_context_id: Option<AgentContextId>,
    /// The conversation context, by id.
    pub conversation_context_id: Option<ConversationContextId>,
}

/// Results for a turn that waits for them (AGN-034 §2.2). Only parsing makes one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
#[non_exhaustive]
pub struct ToolContinuation {
    /// The session.
    pub session_id: SessionId,
    /// The turn that waits.
    pub turn_id: TurnId,
    /// The results, in the order in which the client sent them (AGN-034 §5).
    pub tool_results: NonEmpty<ToolResult>,
}

impl From<ToolContinuation> for AgentExecuteRequest {
    fn from(continuation: ToolContinuation) -> Self {
        Self::ToolContinuation(continuation)
    }
}

impl AgentExecuteRequest {
    /// Reads a JSON body of either scenario.
    ///
    /// # Errors
    /// Every violation, in document order, at most [`limits::MAX_REPORTED_VIOLATIONS`]; never none.
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
        let json = within_limit(body)?;
        match envelope::is_continuation(&json) {
            false => checked(&json, envelope::user_turn).map(Self::UserTurn),
            true => checked(&json, envelope::tool_continuation).map(Self::ToolContinuation),
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
    /// Reads what [`UserTurn::canonical_json`] wrote. The body's limit does not apply: the request
    /// was within it when it came in, and its canonical form may be longer.
    ///
    /// # Errors
    /// Every violation; a text that this contract wrote has none.
    pub fn from_canonical(json: &[u8]) -> Result<Self, Vec<Error>> {
        checked(&readable(json)?, envelope::user_turn)
    }
}

impl ToolContinuation {
    /// Reads a JSON body where nothing but a tool continuation is accepted.
    ///
    /// # Errors
    /// Every violation, in document order, at most [`limits::MAX_REPORTED_VIOLATIONS`]; never none.
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        checked(&within_limit(body)?, envelope::tool_continuation)
    }

    /// Reads what [`ToolContinuation::canonical_json`] wrote.
    ///
    /// # Errors
    /// Every violation; a text that this contract wrote has none.
    pub fn from_canonical(json: &[u8]) -> Result<Self, Vec<Error>> {
        checked(&readable(json)?, envelope::tool_continuation)
    }
}

fn within_limit(body: &[u8]) -> Result<Json<'_>, Vec<Error>> {
    body_size(body.len())?;
    readable(body)
}

/// Refuses a body of more than [`limits::MAX_BODY_BYTES`].
pub(crate) fn body_size(bytes: usize) -> Result<(), Vec<Error>> {
    if bytes > limits::MAX_BODY_BYTES {
        let limit = limits::MAX_BODY_BYTES;
        return Err(vec![Error::new(
            ErrorCode::PayloadTooLarge,
            format!("The body has {bytes} bytes, at most {limit} (4 MiB) are allowed"),
        )]);
    }
    Ok(())
}

fn readable(body: &[u8]) -> Result<Json<'_>, Vec<Error>> {
    Json::read(body).map_err(|why| {
        let code = match why {
            Unreadable::Empty => ErrorCode::BodyMissing,
            Unreadable::TooDeep | Unreadable::TooMany => ErrorCode::MemberTooLarge,
            Unreadable::ByteOrderMark | Unreadable::NotUtf8(_) | Unreadable::NotJson(_) => {
                ErrorCode::BodyNotJson
            }
        };
        vec![Error::new(code, format!("The body {why}"))]
    })
}

/// Reads a tree by a scenario's table; a value counts only when nothing was wrong.
pub(crate) fn checked<T>(
    json: &Json<'_>,
    read: fn(&Json<'_>, &mut Report) -> Option<T>,
) -> Result<T, Vec<Error>> {
    let mut report = Report::default();
    match read(json, &mut report) {
        Some(value) if report.is_clean() => Ok(value),
        // No value and nothing reported: a bug of ours.
        _ if report.is_clean() => Err(vec![Error::from(ErrorCode::Internal)]),
        _ => Err(report.into_errors()),
    }
}
