//! The errors that reject a request. Nothing was started and nothing was lost.

use std::time::Duration;

use contracts::{
    Error, ErrorCode,
    id::{AgentContextId, ConversationContextId, SessionId, TurnId},
    request::limits::MAX_INLINE_BYTES,
};

use crate::ports::{ListError, Unavailable};
use agent::tool::result_validation::Mismatch;

/// A rejected request.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The turn id was used for another request.
    #[error("the turn id belongs to another request")]
    TurnIdConflict,
    /// The same request is still running.
    #[error("the same request still runs")]
    TurnInProgress {
        /// The time to wait before a retry.
        retry_after: Duration,
    },
    /// Another turn of the session is running.
    #[error("another turn of the session runs")]
    SessionBusy {
        /// The turn that is running.
        turn: TurnId,
        /// The time to wait before a retry.
        retry_after: Duration,
    },
    /// Another user of the org started the turn.
    #[error("the turn was asked by another user")]
    AnotherUsersTurn,
    /// The turn isn't waiting for tool results.
    #[error("the turn does not await tool results")]
    NotAwaitingTools,
    /// The results don't match the turn's pending calls.
    #[error("the tool results don't match: {0}")]
    ToolResultsMismatch(Mismatch),
    /// The caller has no such agent context.
    #[error("no such agent context")]
    AgentContextNotFound(AgentContextId),
    /// The caller has no such conversation context.
    #[error("no such conversation context")]
    ConversationContextNotFound(ConversationContextId),
    /// The session is deleted.
    #[error("the session was deleted")]
    SessionDeleted,
    /// Only the session's owner or an operator may do this.
    #[error("the session is another user's")]
    OwnerRequired,
    /// Only an operator may do this.
    #[error("it is for operators")]
    OperatorRequired,
    /// The session has other contexts.
    #[error("the session has other contexts")]
    ContextMismatch,
    /// The session id belongs to another session.
    #[error("the session id names another session")]
    SessionIdConflict,
    /// The export can't be imported.
    #[error("the export can't be imported")]
    InvalidExport {
        /// The invalid member.
        at: String,
        /// The rule that it breaks, and the fix.
        rule: String,
    },
    /// A different session with this id exists.
    #[error("another session is there")]
    SessionExists(SessionId),
    /// The previous session with this id is still being purged.
    #[error("the session is being purged")]
    SessionBeingPurged(SessionId),
    /// The turn has no answer to continue from.
    #[error("the turn is not completed")]
    TurnNotCompleted,
    /// A rerun removed everything that the original turn had as input.
    #[error("nothing is left to work on")]
    InputRemoved,
    /// The requested mode isn't one of these.
    #[error("the mode is not offered")]
    ModeNotOffered(Vec<String>),
    /// The requested model isn't one of these, which the context allows.
    #[error("the model is not offered")]
    ModelNotOffered(Vec<String>),
    /// The turn that the new one has to follow isn't the session's last.
    #[error("another turn is the last")]
    NotLastTurn,
    /// The caller has no such session.
    #[error("no such session")]
    SessionNotFound,
    /// The caller has no such turn.
    #[error("no such turn")]
    TurnNotFound,
    /// The turn has no such payload, or the caller may not read it.
    #[error("no such payload")]
    PayloadNotFound,
    /// The payload is too large for an inline response.
    #[error("the payload is larger than what is answered inline")]
    InlineTooLarge {
        /// Its size in bytes.
        size: u64,
    },
    /// The continuation token is invalid.
    #[error("the continuation token is not valid")]
    InvalidContinuationToken,
    /// Conflicting writes persisted for too long. Nothing was started.
    #[error("the session stayed contended")]
    Contended,
    /// A store can't be reached.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

impl Refusal {
    /// Returns the time to wait before a retry. `None` if a retry is pointless.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::TurnInProgress { retry_after } | Self::SessionBusy { retry_after, .. } => {
                Some(*retry_after)
            }
            Self::Unavailable(error) if error.newer().is_some() => None,
            Self::Contended | Self::Unavailable(_) => Some(Duration::from_secs(1)),
            Self::TurnIdConflict
            | Self::AnotherUsersTurn
            | Self::NotAwaitingTools
            | Self::ToolResultsMismatch(_)
            | Self::AgentContextNotFound(_)
            | Self::ConversationContextNotFound(_)
            | Self::SessionDeleted
            | Self::OwnerRequired
            | Self::OperatorRequired
            | Self::ContextMismatch
            | Self::SessionIdConflict
            | Self::InvalidExport { .. }
            | Self::SessionExists(_)
            | Self::SessionBeingPurged(_)
            | Self::TurnNotCompleted
            | Self::InputRemoved
            | Self::ModeNotOffered(_)
            | Self::ModelNotOffered(_)
            | Self::NotLastTurn
            | Self::SessionNotFound
            | Self::TurnNotFound
            | Self::PayloadNotFound
            | Self::InlineTooLarge { .. }
            | Self::InvalidContinuationToken => None,
        }
    }

    /// Returns the error for the client.
    #[must_use]
    pub fn error(&self) -> Error {
        let client_error = self.client_error();
        match self.retry_after() {
            Some(wait) => client_error.with_retry_after(wait),
            None => client_error,
        }
    }

    fn client_error(&self) -> Error {
        match self {
            Self::TurnIdConflict => Error::new(
                ErrorCode::TurnIdConflict,
                "This TurnId was used in this session with another request. Mint a new TurnId for a new turn.",
            ),
            Self::AnotherUsersTurn => Error::new(
                ErrorCode::TurnOfAnotherUser,
                "Another user asked this turn, and its tools run for that user alone. Send a turn of your own.",
            ),
            Self::TurnInProgress { .. } => Error::new(
                ErrorCode::TurnInProgress,
                "The same request is still being worked on. Send it again, unchanged, after the time in Retry-After.",
            ),
            Self::SessionBusy { turn, .. } => Error::new(
                ErrorCode::SessionBusy,
                "Another turn of this session is still being worked on. Wait for it, or cancel it, then send this one again.",
            )
            .with_details(turn.as_str()),
            Self::NotAwaitingTools => Error::new(
                ErrorCode::TurnNotAwaitingTools,
                "This turn does not await tool results. Read the turn to see where it stands.",
            ),
            Self::ToolResultsMismatch(mismatch) => Error::new(
                ErrorCode::ToolResultsMismatch,
                "ToolResults must answer exactly the calls of the continuation, in their order. \
                 Nothing was stored; send the right results.",
            )
            .with_details(mismatch.to_string()),
            Self::AgentContextNotFound(id) => {
                Error::from(ErrorCode::AgentContextNotFound).with_details(id.as_str())
            }
            Self::ConversationContextNotFound(id) => {
                Error::from(ErrorCode::ConversationContextNotFound).with_details(id.as_str())
            }
            Self::SessionDeleted => Error::new(
                ErrorCode::SessionDeleted,
                "This session was deleted and takes nothing more. Restore it, or start another one.",
            ),
            Self::OwnerRequired => Error::new(
                ErrorCode::Forbidden,
                "Only the session's owner or an operator may say who sees it, delete it or restore it.",
            ),
            Self::OperatorRequired => Error::new(
                ErrorCode::Forbidden,
                "Only operators of the org may export all of its sessions, and import some.",
            ),
            Self::ContextMismatch => Error::new(
                ErrorCode::SessionContextMismatch,
                "The contexts of a session are fixed by its first turn. Leave AgentContextId and ConversationContextId \
                 out, or start a new session.",
            ),
            Self::SessionIdConflict => Error::new(
                ErrorCode::SessionIdConflict,
                "This SessionId names another session already. Mint a new SessionId for a new session.",
            )
            .with_details("SessionId"),
            Self::InvalidExport { at, rule } => {
                Error::new(ErrorCode::MemberInvalid, format!("{at} {rule}.")).with_details(at)
            }
            Self::SessionExists(session) => Error::new(
                ErrorCode::SessionIdConflict,
                "A session of this id is there already and is not the one of the export. Purge it first, or import with \
                 ids=new.",
            )
            .with_details(session.as_str()),
            Self::SessionBeingPurged(session) => Error::new(
                ErrorCode::SessionDeleted,
                "What was there under this id is being purged. Import it once the report of its purge says done, or with ids=new.",
            )
            .with_details(session.as_str()),
            Self::TurnNotCompleted => Error::new(
                ErrorCode::TurnNotCompleted,
                "Only a completed turn can be gone on from. Wait for the turn, or name another one.",
            )
            .with_details("TurnId"),
            Self::InputRemoved => Error::new(
                ErrorCode::InputRequired,
                "The rerun must keep or hold at least one of Instruction, InputArtifacts and ClipboardImages",
            ),
            Self::ModeNotOffered(offered) => not_offered("Mode", offered),
            Self::ModelNotOffered(named) => not_offered("Model", named),
            Self::NotLastTurn => Error::new(
                ErrorCode::TurnIdConflict,
                "Another turn of this session is newer than the one to go on from. Fork the session from that turn.",
            ),
            Self::SessionNotFound => ErrorCode::SessionNotFound.into(),
            Self::TurnNotFound => ErrorCode::TurnNotFound.into(),
            Self::PayloadNotFound => ErrorCode::PayloadNotFound.into(),
            Self::InlineTooLarge { size } => Error::new(
                ErrorCode::InlineTooLarge,
                format!(
                    "The payload has {size} bytes, and at most {MAX_INLINE_BYTES} are answered inline. Leave inline out to \
                     get its link."
                ),
            )
            .with_details("inline"),
            Self::InvalidContinuationToken => Error::new(
                ErrorCode::ParameterInvalid,
                "continuationToken must be one that the previous page returned. Leave it out to start over.",
            )
            .with_details("continuationToken"),
            Self::Contended => Error::new(
                ErrorCode::StorageUnavailable,
                "The session is in heavy use. Nothing was started; send the request again, unchanged.",
            ),
            Self::Unavailable(error) if error.newer().is_some() => Error::new(
                ErrorCode::DataTooNew,
                "What is stored was written by a newer version of the service. Nothing was changed; sending the request \
                 again does not help. Ask your operator to deploy that version.",
            ),
            Self::Unavailable(_) => Error::new(
                ErrorCode::StorageUnavailable,
                "The service can't reach its storage. Send the request again, unchanged, to get this turn's outcome.",
            ),
        }
    }
}

fn not_offered(member: &str, offered: &[String]) -> Error {
    let rule = format!("{member} must be one of {}. Leave it out to have the usual one.", offered.join(", "));
    Error::new(ErrorCode::MemberInvalid, rule).with_details(member)
}

impl From<ListError> for Refusal {
    fn from(error: ListError) -> Self {
        match error {
            ListError::InvalidToken => Self::InvalidContinuationToken,
            ListError::Unavailable(error) => Self::Unavailable(error),
        }
    }
}
