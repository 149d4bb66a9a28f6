//! The errors that reject a request. Nothing was started and nothing was lost.
//!
//! A refusal that a caller matches on is a variant of [`Refusal`]. Any other is a code with its text, and a function
//! below states both.

use std::time::Duration;

use contracts::{
    Error, ErrorCode,
    id::{OrgId, SessionId, TurnId},
    request::limits::MAX_INLINE_BYTES,
};

use crate::ports::{DocumentId, ListError, Unavailable};
use agent::{
    context::{ContextId, ContextKind, DOCUMENT, Restriction},
    fault::Faults,
    tool::result_validation::Mismatch,
};
use protocol::{ancestry::MAX_FORK_DEPTH, session::SessionClosed};

/// Time to wait before a retry while the storage is unavailable or contended.
const STORAGE_RETRY: Duration = Duration::from_secs(1);

/// A rejected request. Its text is the client's message, unless the storage is unavailable.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The turn id was used for another request.
    #[error(
        "This session already has a different request with this TurnId. Use a new TurnId for a new turn."
    )]
    TurnIdConflict,
    /// The same request is still running.
    #[error("The same request is still running. Send it again, unchanged, after the time in Retry-After.")]
    TurnInProgress {
        /// The time to wait before a retry.
        retry_after: Duration,
    },
    /// Another turn of the session is running.
    #[error(
        "Another turn of this session is still running. Wait until it ends, or cancel it, and send this request again."
    )]
    SessionBusy {
        /// The turn that is running.
        turn: TurnId,
        /// The time to wait before a retry.
        retry_after: Duration,
    },
    /// The turn that the new one has to follow isn't the session's last.
    #[error("This turn is no longer the session's last turn. Fork the session from it.")]
    NotLastTurn,
    /// The session id belongs to another session.
    #[error("This SessionId belongs to another session. Use a new SessionId for a new session.")]
    SessionIdConflict,
    /// The caller has no such session.
    #[error("{}", ErrorCode::SessionNotFound.summary())]
    SessionNotFound,
    /// The caller has no such turn.
    #[error("{}", ErrorCode::TurnNotFound.summary())]
    TurnNotFound,
    /// The session isn't in the state that the request requires. Its entity tag, once that is known.
    #[error("{}", state_message("session", .0.as_deref()))]
    SessionChanged(Option<String>),
    /// The content of a context is invalid.
    #[error("The context is invalid.")]
    InvalidContext(Faults),
    /// Conflicting writes persisted for too long. Nothing was started.
    #[error(
        "Too many changes at the same time. Nothing was started or changed. Send the request again, unchanged."
    )]
    Contended,
    /// A store can't be reached.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// A refusal that no caller distinguishes.
    #[error("{}", .0.message)]
    Other(Box<Error>),
}

impl Refusal {
    /// The org stores every turn.
    #[must_use]
    pub fn storage_required() -> Self {
        let message = "The org stores every turn. Omit `store`, or send true.";
        Error::new(ErrorCode::MemberInvalid, message).with_details("Store").into()
    }

    /// Returns the time to wait before a retry. `None` if a retry is pointless.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::TurnInProgress { retry_after } | Self::SessionBusy { retry_after, .. } => {
                Some(*retry_after)
            }
            Self::Contended => Some(STORAGE_RETRY),
            Self::Unavailable(error) => error.newer().is_none().then_some(STORAGE_RETRY),
            Self::Other(error) => error.retry_after_seconds.map(Duration::from_secs),
            Self::TurnIdConflict
            | Self::NotLastTurn
            | Self::SessionIdConflict
            | Self::SessionNotFound
            | Self::TurnNotFound
            | Self::SessionChanged(_)
            | Self::InvalidContext(_) => None,
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
        let own_text = |code| Error::new(code, self.to_string());
        let error = match self {
            Self::TurnIdConflict | Self::NotLastTurn => own_text(ErrorCode::TurnIdConflict),
            Self::TurnInProgress { .. } => own_text(ErrorCode::TurnInProgress),
            Self::SessionBusy { turn, .. } => own_text(ErrorCode::SessionBusy).with_details(turn.as_str()),
            Self::SessionIdConflict => own_text(ErrorCode::SessionIdConflict).with_details("SessionId"),
            Self::SessionNotFound => own_text(ErrorCode::SessionNotFound),
            Self::TurnNotFound => own_text(ErrorCode::TurnNotFound),
            Self::SessionChanged(tag) => precondition_failed(self.to_string(), tag.as_deref()),
            Self::InvalidContext(faults) => {
                context_errors(faults).into_iter().next().unwrap_or_else(|| ErrorCode::MemberInvalid.into())
            }
            Self::Contended => own_text(ErrorCode::StorageUnavailable),
            Self::Unavailable(error) if error.newer().is_some() => Error::new(
                ErrorCode::DataTooNew,
                "A newer version of the service wrote the stored data. Nothing was changed, and a retry can't help. Ask \
                 your operator to deploy that version.",
            ),
            Self::Unavailable(_) => Error::new(
                ErrorCode::StorageUnavailable,
                "The service can't reach its storage. Send the request again, unchanged.",
            ),
            Self::Other(error) => (**error).clone(),
        };
        match self.retry_after() {
            Some(wait) => error.with_retry_after(wait),
            None => error,
        }
    }

    /// Refuses a continuation token that no page ended with.
    #[must_use]
    pub fn invalid_continuation_token() -> Self {
        let message =
            "continuationToken must be a token from the previous page. Omit it to start from the first page.";
        Error::new(ErrorCode::ParameterInvalid, message).with_details("continuationToken").into()
    }

    pub(crate) fn another_users_turn() -> Self {
        let message =
            "Another user started this turn, and only they can submit its tool results. Start your own turn.";
        Error::new(ErrorCode::TurnOfAnotherUser, message).into()
    }

    pub(crate) fn not_awaiting_tools() -> Self {
        let message = "This turn doesn't await tool results. Read the turn to see its status.";
        Error::new(ErrorCode::TurnNotAwaitingTools, message).into()
    }

    pub(crate) fn tool_results_mismatch(mismatch: &Mismatch) -> Self {
        let message = "ToolResults must match the calls of the continuation exactly, in their order. Nothing was stored. \
                       Correct the results, and send them again.";
        Error::new(ErrorCode::ToolResultsMismatch, message).with_details(mismatch.to_string()).into()
    }

    pub(crate) fn context_not_found(id: &ContextId) -> Self {
        let (code, id) = match id {
            ContextId::Agent(id) => (ErrorCode::AgentContextNotFound, id.as_str()),
            ContextId::Conversation(id) => (ErrorCode::ConversationContextNotFound, id.as_str()),
            ContextId::Mode(key) => (ErrorCode::ModeNotFound, key.as_str()),
            ContextId::Connection(id) => (ErrorCode::ConnectionNotFound, id.as_str()),
            ContextId::Webhook(id) => (ErrorCode::WebhookNotFound, id.as_str()),
        };
        Error::from(code).with_details(id).into()
    }

    /// Refuses an id that no context can have. It may hold anything, so the refusal doesn't repeat it.
    pub(crate) fn invalid_context_id(kind: ContextKind) -> Self {
        let code = match kind {
            ContextKind::Agent => ErrorCode::AgentContextNotFound,
            ContextKind::Conversation => ErrorCode::ConversationContextNotFound,
            ContextKind::Mode => ErrorCode::ModeNotFound,
            ContextKind::Connection => ErrorCode::ConnectionNotFound,
            ContextKind::Webhook => ErrorCode::WebhookNotFound,
        };
        Error::from(code).into()
    }

    /// Refuses to accept changes of a connection's server that nobody has reviewed.
    pub(crate) fn server_changed() -> Self {
        let message = "The server has other tools than those of the Hash. Nothing was written. Compare again without Accept, \
                       and review the changes.";
        Error::new(ErrorCode::PreconditionFailed, message).with_details("Hash").into()
    }

    /// Refuses a member of a request about a connection. `rule` states the rule that it breaks, and the fix.
    pub(crate) fn invalid_member(at: &str, rule: &str) -> Self {
        Error::new(ErrorCode::MemberInvalid, format!("{at} {rule}")).with_details(at).into()
    }

    pub(crate) fn context_version_not_found(version: String) -> Self {
        Error::from(ErrorCode::ContextVersionNotFound).with_details(version).into()
    }

    /// Refuses a change of a document with another entity tag than required. `None` without a live context.
    pub(crate) fn document_changed(id: &DocumentId, tag: Option<&str>) -> Self {
        let (document, tag) = match (id, tag) {
            (DocumentId::Budgets, Some(tag)) => ("budgets", tag),
            (DocumentId::OrgSettings, Some(tag)) => ("settings", tag),
            _ => return precondition_failed(state_message("context", tag), tag).into(),
        };
        let message = format!(
            "The {document} have the ETag {tag}. Nothing was changed. Read the {document}, then send the change again."
        );
        precondition_failed(message, Some(tag)).into()
    }

    pub(crate) fn owner_required() -> Self {
        let message =
            "Only the session's owner or an operator can change its visibility, delete it or restore it.";
        Error::new(ErrorCode::Forbidden, message).into()
    }

    pub(crate) fn visibility_restricted() -> Self {
        let message =
            "Your org restricts sessions to their participants. Ask an operator to open this session.";
        Error::new(ErrorCode::Forbidden, message).with_details("Visibility").into()
    }

    pub(crate) fn operator_required() -> Self {
        let message = "This request requires the operator role. Ask an operator of your org.";
        Error::new(ErrorCode::Forbidden, message).into()
    }

    pub(crate) fn context_editor_required() -> Self {
        let message =
            "Contexts and modes require the operator or the agent editor role. Ask an operator of your org.";
        Error::new(ErrorCode::Forbidden, message).into()
    }

    pub(crate) fn context_mismatch() -> Self {
        let message = "A session's first turn fixes its contexts. Omit AgentContextId and ConversationContextId, or start \
                       a new session.";
        Error::new(ErrorCode::SessionContextMismatch, message).into()
    }

    /// Refuses an export because of the member `at`. `rule` states the rule that it breaks, and the fix.
    pub(crate) fn invalid_export(at: &str, rule: &str) -> Self {
        Error::new(ErrorCode::MemberInvalid, format!("{at} {rule}.")).with_details(at).into()
    }

    pub(crate) fn session_exists(session: &SessionId) -> Self {
        let message = "A different session with this id exists. Purge it first, or import with ids=new.";
        Error::new(ErrorCode::SessionIdConflict, message).with_details(session.as_str()).into()
    }

    pub(crate) fn session_being_purged(session: &SessionId) -> Self {
        let message = "A session with this id is being purged. Wait until its purge report says done, or import with \
                       ids=new.";
        Error::new(ErrorCode::SessionDeleted, message).with_details(session.as_str()).into()
    }

    pub(crate) fn turn_not_completed() -> Self {
        let message =
            "You can only continue from a completed turn. Wait until it completes, or name another one.";
        Error::new(ErrorCode::TurnNotCompleted, message).with_details("TurnId").into()
    }

    pub(crate) fn fork_too_deep() -> Self {
        let message = format!(
            "The session of TurnId has {MAX_FORK_DEPTH} forks in its ancestry, the maximum. Fork one of its ancestors, or \
             start a new session."
        );
        Error::new(ErrorCode::MemberTooLarge, message).with_details("TurnId").into()
    }

    pub(crate) fn no_input() -> Self {
        let message = "The rerun has no input. Keep or send at least one of Instruction, InputArtifacts and ClipboardImages.";
        Error::new(ErrorCode::InputRequired, message).into()
    }

    /// Refuses the value of a member that the turn's contexts don't offer.
    pub(crate) fn not_offered(member: &str, offered: &[String]) -> Self {
        let message = format!("{member} must be one of {}. Omit it to use the default.", offered.join(", "));
        Error::new(ErrorCode::MemberInvalid, message).with_details(member).into()
    }

    pub(crate) fn inline_too_large(size: u64) -> Self {
        let message = format!(
            "The payload has {size} bytes, and inline responses are limited to {MAX_INLINE_BYTES}. Omit inline to get a \
             link."
        );
        Error::new(ErrorCode::InlineTooLarge, message).with_details("inline").into()
    }

    /// Refuses a budget of money at this place of the document, because its scope has agents without prices in its
    /// currency.
    pub(crate) fn uncounted_agents(index: usize, currency: &str, agents: &str) -> Self {
        let member = format!("Budgets[{index}].Unpriced");
        let message = format!(
            "The budget can't count {agents}. Set Prices in {currency} in the conversation contexts of these agents, or \
             set {member} to allow."
        );
        Error::new(ErrorCode::MemberInvalid, message).with_details(member).into()
    }

    /// Refuses the settings of another org than the caller's.
    pub(crate) fn settings_of_another_org(own: &OrgId) -> Self {
        let message =
            format!("Org must be {own}, the org of your token. Omit it, or sign in to the other org.");
        Error::new(ErrorCode::MemberInvalid, message).with_details("Org").into()
    }

    /// Refuses a provider of titles that the deployment doesn't declare. `names` are the declared providers.
    pub(crate) fn unknown_title_provider(names: &[String]) -> Self {
        let rule = match names {
            [] => "the deployment declares no providers".to_owned(),
            names => format!("must be one of {}", names.join(", ")),
        };
        let message = format!("Titles.Provider: {rule}. Omit it to use the default.");
        Error::new(ErrorCode::MemberInvalid, message).with_details("Titles.Provider").into()
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Other(Box::new(error))
    }
}

impl From<ErrorCode> for Refusal {
    fn from(code: ErrorCode) -> Self {
        Error::from(code).into()
    }
}

impl From<SessionClosed> for Refusal {
    fn from(closed: SessionClosed) -> Self {
        let (code, message) = match closed {
            SessionClosed::Deleted => (
                ErrorCode::SessionDeleted,
                "This session is deleted and accepts no turns or changes. Restore it, or start a new session.",
            ),
            SessionClosed::Quarantined => (
                ErrorCode::SessionQuarantined,
                "An operator quarantined this session. It accepts no turns, tool results or changes until an operator \
                 releases it. Start a new session, or ask an operator.",
            ),
        };
        Error::new(code, message).into()
    }
}

impl From<Restriction> for Refusal {
    fn from(restriction: Restriction) -> Self {
        let (code, fix) = match &restriction {
            Restriction::Unpriced { currency, .. } => (
                ErrorCode::ForbiddenByPolicy,
                format!(
                    "An operator of your org can set Prices in {currency} in the conversation context, or set Unpriced to \
                     allow in the budget."
                ),
            ),
            _ if restriction.is_disabled() => {
                (ErrorCode::DisabledByOperator, "Ask an operator of your org.".to_owned())
            }
            _ => (
                ErrorCode::ForbiddenByPolicy,
                "Change the request, or ask an operator of your org.".to_owned(),
            ),
        };
        let error = Error::new(code, format!("{restriction}. Nothing was started. {fix}"));
        match restriction.name() {
            Some(name) => error.with_details(name).into(),
            None => error.into(),
        }
    }
}

impl From<ListError> for Refusal {
    fn from(error: ListError) -> Self {
        match error {
            ListError::InvalidToken => Self::invalid_continuation_token(),
            ListError::Unavailable(error) => Self::Unavailable(error),
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

/// Describes the state of a resource that a request requires to be another. `tag` is its entity tag, if it exists.
fn state_message(resource: &str, tag: Option<&str>) -> String {
    match tag {
        Some(tag) => format!(
            "The {resource} exists, with the ETag {tag}. Nothing was changed. Read the {resource}, then send the change \
             again."
        ),
        None => {
            format!("The {resource} doesn't exist, so nothing was changed. Check its id, or omit If-Match.")
        }
    }
}

fn precondition_failed(message: String, tag: Option<&str>) -> Error {
    let error = Error::new(ErrorCode::PreconditionFailed, message);
    match tag {
        Some(tag) => error.with_details(tag),
        None => error,
    }
}
