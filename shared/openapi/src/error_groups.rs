//! Groups of error codes, by the task of an operation. Statuses and descriptions follow from the codes.

use std::collections::BTreeMap;

use contracts::error::{
    ErrorCode::{self, *},
    Retry,
};

/// Errors of every operation: those of the gateway, failures of the service, and unknown query parameters.
pub(crate) const ANYWHERE: &[ErrorCode] = &[
    ParameterInvalid,
    Unauthenticated,
    Forbidden,
    PayloadTooLarge,
    TooManyRequests,
    DataTooNew,
    Internal,
    FunctionFailed,
    StorageUnavailable,
    FunctionTimedOut,
];

/// Errors that only the gateway returns. They are always in the envelope, even if the client accepts plain text.
pub(crate) const GATEWAY: &[ErrorCode] = &[Forbidden, TooManyRequests, FunctionFailed, FunctionTimedOut];

/// Errors of parsing a JSON body.
pub(crate) const BODY: &[ErrorCode] = &[
    BodyMissing,
    BodyNotJson,
    MemberRequired,
    MemberForbidden,
    MemberUnknown,
    MemberDuplicated,
    MemberInvalid,
    MemberTooLarge,
    UnsupportedMediaType,
];

/// Errors of parsing a user turn in any encoding.
pub(crate) const USER_TURN: &[ErrorCode] = &[InputRequired, BodyNotText, BodyNotMultipart];

/// Errors of reading a session.
pub(crate) const SESSION: &[ErrorCode] = &[SessionNotFound];

/// Errors of writing to a deleted or quarantined session.
pub(crate) const CLOSED: &[ErrorCode] = &[SessionDeleted, SessionQuarantined];

/// Errors of a change that a deleted session accepts, and a quarantined one does not.
pub(crate) const QUARANTINED: &[ErrorCode] = &[SessionQuarantined];

/// Errors of quarantining a session.
pub(crate) const DELETED: &[ErrorCode] = &[SessionDeleted];

/// Errors of reading a turn. An invalid path counts as an unknown session.
pub(crate) const TURN: &[ErrorCode] = &[SessionNotFound, TurnNotFound];

/// Errors of reading a payload.
pub(crate) const PAYLOAD: &[ErrorCode] = &[PayloadNotFound, InlineTooLarge];

/// Errors of starting or replaying a turn (I9).
pub(crate) const START: &[ErrorCode] = &[
    SessionNotFound,
    SessionDeleted,
    SessionQuarantined,
    TurnNotFound,
    TurnIdConflict,
    TurnInProgress,
    SessionBusy,
    SessionContextMismatch,
    AgentContextNotFound,
    ConversationContextNotFound,
    ContextVersionNotFound,
    ForbiddenByPolicy,
    DisabledByOperator,
    BudgetExceeded,
];

/// Errors of rerunning a turn.
pub(crate) const RERUN: &[ErrorCode] = &[SessionNotFound, TurnNotFound, InputRequired];

/// Errors of reading an agent context.
pub(crate) const AGENT: &[ErrorCode] = &[AgentContextNotFound];

/// Errors of reading a conversation context.
pub(crate) const CONVERSATION: &[ErrorCode] = &[ConversationContextNotFound];

/// Errors of reading a mode.
pub(crate) const MODE: &[ErrorCode] = &[ModeNotFound];

/// Errors of reading a version of a context.
pub(crate) const VERSION: &[ErrorCode] = &[ContextVersionNotFound];

/// Errors of a write that requires a state.
pub(crate) const PRECONDITION: &[ErrorCode] = &[PreconditionFailed];

/// Errors of submitting feedback. The turn must have ended.
pub(crate) const FEEDBACK: &[ErrorCode] = &[SessionBusy];

/// Errors of forking a session.
pub(crate) const FORK: &[ErrorCode] =
    &[SessionNotFound, TurnNotFound, TurnNotCompleted, SessionIdConflict, DisabledByOperator];

/// Errors of importing sessions.
pub(crate) const IMPORT: &[ErrorCode] = &[
    BodyMissing,
    BodyNotJson,
    MemberUnknown,
    MemberInvalid,
    UnsupportedMediaType,
    SessionIdConflict,
    SessionDeleted,
];

/// Errors of submitting tool results.
pub(crate) const TOOL_RESULTS: &[ErrorCode] = &[
    TurnNotFound,
    TurnOfAnotherUser,
    SessionDeleted,
    SessionQuarantined,
    TurnInProgress,
    TurnNotAwaitingTools,
    ToolResultsMismatch,
];

/// Errors of a failed turn. A replay returns the same error.
pub(crate) const FAILED_TURN: &[ErrorCode] = &[
    TurnCancelled,
    TurnSuperseded,
    ToolDeadlineExpired,
    TurnAbandoned,
    TurnNotStored,
    ModelRateLimited,
    ModelQuotaExceeded,
    ModelContextTooLong,
    ModelAttachmentRefused,
    ModelContentFiltered,
    ModelMisconfigured,
    ModelNotFound,
    ModelRejected,
    ModelUnavailable,
    ModelTimedOut,
    ModelReplyMalformed,
    ModelReplyIncomplete,
    ModelReplyEmpty,
    ToolRoundsExceeded,
    TurnOverBudget,
];

/// Groups the codes by status, in catalogue order.
pub(crate) fn by_status(groups: &[&[ErrorCode]]) -> BTreeMap<u16, Vec<ErrorCode>> {
    let mut statuses: BTreeMap<u16, Vec<ErrorCode>> = BTreeMap::new();
    for code in ErrorCode::ALL {
        if groups.iter().any(|group| group.contains(code)) {
            statuses.entry(code.http_status()).or_default().push(*code);
        }
    }
    statuses
}

/// Describes the codes of a status, with their meaning and retry advice.
pub(crate) fn description(codes: &[ErrorCode]) -> String {
    let line = |code: &ErrorCode| format!("- `{code}`: {}{}", code.summary(), advice(*code));
    codes.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn advice(code: ErrorCode) -> &'static str {
    match code.retry() {
        Retry::Never => "",
        Retry::SameRequest => " Send the same request again later.",
        Retry::NewTurn => " Send the same input again under a new `TurnId`.",
    }
}
