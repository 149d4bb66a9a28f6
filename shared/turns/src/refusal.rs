//! The errors that reject a request. Nothing was started and nothing was lost.

use std::time::Duration;

use contracts::{
    Error, ErrorCode,
    id::{AgentContextId, ConversationContextId, ModeKey, OrgId, SessionId, TurnId},
    request::limits::MAX_INLINE_BYTES,
};

use crate::ports::{ListError, Unavailable};
use agent::{
    context::{ContextKind, DOCUMENT, Restriction},
    fault::Faults,
    tool::result_validation::Mismatch,
};
use protocol::{ancestry::MAX_FORK_DEPTH, session::SessionClosed};

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
    /// The caller has no such mode.
    #[error("no such mode")]
    ModeNotFound(ModeKey),
    /// The session is deleted.
    #[error("the session was deleted")]
    SessionDeleted,
    /// The session is quarantined.
    #[error("the session is quarantined")]
    SessionQuarantined,
    /// Only the session's owner or an operator may do this.
    #[error("the session is another user's")]
    OwnerRequired,
    /// The org keeps its sessions to their participants.
    #[error("only operators open sessions to the org")]
    VisibilityRestricted,
    /// Only an operator may do this.
    #[error("it is for operators")]
    OperatorRequired,
    /// Only an operator or an agent editor may do this.
    #[error("it is for operators and agent editors")]
    ContextEditorRequired,
    /// The content of a context is invalid.
    #[error("the context is invalid")]
    InvalidContext(Faults),
    /// The context isn't in the state that the request requires. Its entity tag, if it exists.
    #[error("the context is in another state")]
    ContextChanged(Option<String>),
    /// The session isn't in the state that the request requires. Its entity tag, once that is known.
    #[error("the session is in another state")]
    SessionChanged(Option<String>),
    /// The context has no such version.
    #[error("no such version of the context")]
    ContextVersionNotFound(String),
    /// The id is that of no context.
    #[error("no such context")]
    InvalidContextId(ContextKind),
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
    /// The ancestry of the new session would have too many sessions.
    #[error("the fork is too deep")]
    ForkTooDeep,
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
    /// The org's settings don't allow the turn.
    #[error("the org's settings don't allow it: {0}")]
    Restricted(Restriction),
    /// A budget of money can't count agents in its scope.
    #[error("a budget can't count {agents}")]
    UncountedAgents {
        /// The budget's place in the document.
        index: usize,
        /// The currency.
        currency: String,
        /// The agents, with the prices that they lack.
        agents: String,
    },
    /// A document of the org isn't in the state that the request requires.
    #[error("the {document} are in another state")]
    DocumentChanged {
        /// Its name, in the plural.
        document: &'static str,
        /// Its entity tag.
        tag: String,
    },
    /// The settings are those of another org. Contains the caller's.
    #[error("the settings are another org's")]
    SettingsOfAnotherOrg(OrgId),
    /// The deployment has no such provider for titles. Contains the names that it has.
    #[error("no such provider")]
    UnknownTitleProvider(Vec<String>),
    /// A budget is used up.
    #[error("a budget is used up")]
    BudgetExceeded(Box<Error>),
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
            Self::BudgetExceeded(error) => error.retry_after_seconds.map(Duration::from_secs),
            Self::Unavailable(error) if error.newer().is_some() => None,
            Self::Contended | Self::Unavailable(_) => Some(Duration::from_secs(1)),
            Self::TurnIdConflict
            | Self::AnotherUsersTurn
            | Self::NotAwaitingTools
            | Self::ToolResultsMismatch(_)
            | Self::AgentContextNotFound(_)
            | Self::ConversationContextNotFound(_)
            | Self::ModeNotFound(_)
            | Self::SessionDeleted
            | Self::SessionQuarantined
            | Self::OwnerRequired
            | Self::VisibilityRestricted
            | Self::OperatorRequired
            | Self::ContextEditorRequired
            | Self::InvalidContext(_)
            | Self::ContextChanged(_)
            | Self::SessionChanged(_)
            | Self::ContextVersionNotFound(_)
            | Self::InvalidContextId(_)
            | Self::ContextMismatch
            | Self::SessionIdConflict
            | Self::InvalidExport { .. }
            | Self::SessionExists(_)
            | Self::SessionBeingPurged(_)
            | Self::TurnNotCompleted
            | Self::ForkTooDeep
            | Self::InputRemoved
            | Self::ModeNotOffered(_)
            | Self::ModelNotOffered(_)
            | Self::NotLastTurn
            | Self::SessionNotFound
            | Self::TurnNotFound
            | Self::PayloadNotFound
            | Self::InlineTooLarge { .. }
            | Self::Restricted(_)
            | Self::UncountedAgents { .. }
            | Self::DocumentChanged { .. }
            | Self::SettingsOfAnotherOrg(_)
            | Self::UnknownTitleProvider(_)
            | Self::InvalidContinuationToken => None,
        }
    }

    /// Returns every error for the client.
    #[must_use]
    pub fn errors(&self) -> Vec<Error> {
        match self {
            Self::InvalidContext(faults) => context_errors(faults),
            refusal => vec![refusal.error()],
        }
    }

    /// Returns the first error for the client.
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
            Self::ModeNotFound(key) => Error::from(ErrorCode::ModeNotFound).with_details(key.as_str()),
            Self::SessionDeleted => Error::new(
                ErrorCode::SessionDeleted,
                "This session was deleted and takes nothing more. Restore it, or start another one.",
            ),
            Self::SessionQuarantined => Error::new(
                ErrorCode::SessionQuarantined,
                "An operator quarantined this session: it can be read, and takes no turns, results or changes until its release. \
                 Start another one, or ask an operator.",
            ),
            Self::OwnerRequired => Error::new(
                ErrorCode::Forbidden,
                "Only the session's owner or an operator may say who sees it, delete it or restore it.",
            ),
            Self::VisibilityRestricted => Error::new(
                ErrorCode::Forbidden,
                "Your org keeps sessions to their participants. Ask an operator to open this one.",
            )
            .with_details("Visibility"),
            Self::OperatorRequired => Error::new(
                ErrorCode::Forbidden,
                "Only operators of the org may do this.",
            ),
            Self::ContextEditorRequired => Error::new(
                ErrorCode::Forbidden,
                "Only operators and agent editors of the org may read and change its contexts and modes.",
            ),
            Self::InvalidContext(faults) => {
                context_errors(faults).into_iter().next().unwrap_or_else(|| ErrorCode::MemberInvalid.into())
            }
            Self::ContextChanged(tag) => changed("context", tag.as_deref()),
            Self::SessionChanged(tag) => changed("session", tag.as_deref()),
            Self::ContextVersionNotFound(version) => {
                Error::from(ErrorCode::ContextVersionNotFound).with_details(version)
            }
            Self::InvalidContextId(ContextKind::Agent) => ErrorCode::AgentContextNotFound.into(),
            Self::InvalidContextId(ContextKind::Conversation) => {
                ErrorCode::ConversationContextNotFound.into()
            }
            Self::InvalidContextId(ContextKind::Mode) => ErrorCode::ModeNotFound.into(),
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
            Self::ForkTooDeep => Error::new(
                ErrorCode::MemberTooLarge,
                format!(
                    "TurnId is of a session with {MAX_FORK_DEPTH} forks in its ancestry, the maximum. Fork one of the \
                     sessions that it was forked from, or start a new session."
                ),
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
            Self::Restricted(restriction) => restricted(restriction),
            Self::UncountedAgents { index, currency, agents } => {
                let member = format!("Budgets[{index}].Unpriced");
                let message = format!(
                    "{member} must be allow, because the budget can't count {agents}. Or set Prices in {currency} in the \
                     conversation contexts of these agents."
                );
                Error::new(ErrorCode::MemberInvalid, message).with_details(member)
            }
            Self::DocumentChanged { document, tag } => Error::new(
                ErrorCode::PreconditionFailed,
                format!(
                    "The {document} exist, and their ETag is {tag}. Nothing was changed. Read them, then send the change \
                     again."
                ),
            )
            .with_details(tag),
            Self::SettingsOfAnotherOrg(org) => Error::new(
                ErrorCode::MemberInvalid,
                format!("Org must be {org}, the org of your token. Leave it out, or sign in to the other org."),
            )
            .with_details("Org"),
            Self::UnknownTitleProvider(names) => {
                let rule = match &names[..] {
                    [] => "the deployment has no named provider. Leave it out to use the default.".to_owned(),
                    names => format!("must be one of {}. Leave it out to use the default.", names.join(", ")),
                };
                Error::new(ErrorCode::MemberInvalid, format!("Titles.Provider: {rule}"))
                    .with_details("Titles.Provider")
            }
            Self::BudgetExceeded(error) => (**error).clone(),
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

/// Returns the error of a restriction, with the name of what is restricted.
fn restricted(restriction: &Restriction) -> Error {
    let (code, fix) = match restriction {
        Restriction::Unpriced { currency, .. } => (
            ErrorCode::ForbiddenByPolicy,
            format!(
                "An operator of your org can set Prices in {currency} in the conversation context, or Unpriced to allow in \
                 the budget."
            ),
        ),
        _ if restriction.is_disabled() => {
            (ErrorCode::DisabledByOperator, "Ask an operator of your org.".to_owned())
        }
        _ => (ErrorCode::ForbiddenByPolicy, "Choose another one, or ask an operator of your org.".to_owned()),
    };
    let error = Error::new(code, format!("{restriction}. Nothing was started. {fix}"));
    match restriction.name() {
        Some(name) => error.with_details(name),
        None => error,
    }
}

impl From<SessionClosed> for Refusal {
    fn from(closed: SessionClosed) -> Self {
        match closed {
            SessionClosed::Deleted => Self::SessionDeleted,
            SessionClosed::Quarantined => Self::SessionQuarantined,
        }
    }
}

/// Returns an error for each fault, about the member of the context.
fn context_errors(faults: &Faults) -> Vec<Error> {
    let error = |fault: &agent::fault::Fault| {
        let member = fault.path.strip_prefix(DOCUMENT).map(|path| path.trim_start_matches('.'));
        match member.filter(|member| !member.is_empty()) {
            Some(member) => Error::new(ErrorCode::MemberInvalid, format!("{member}: {}", fault.message))
                .with_details(member),
            None => Error::new(ErrorCode::MemberInvalid, fault.message.clone()),
        }
    };
    faults.as_slice().iter().map(error).collect()
}

/// Returns the error for a resource in another state than required. `tag` is its entity tag, if it exists.
fn changed(resource: &str, tag: Option<&str>) -> Error {
    let state = match tag {
        Some(tag) => format!("The {resource} exists, and its ETag is {tag}."),
        None => format!("There is no such {resource}."),
    };
    let message = format!("{state} Nothing was changed. Read it, then send the change again.");
    let error = Error::new(ErrorCode::PreconditionFailed, message);
    match tag {
        Some(tag) => error.with_details(tag),
        None => error,
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
