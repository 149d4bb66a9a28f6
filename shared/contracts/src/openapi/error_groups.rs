//! Groups of error codes, by the task of an operation. Statuses and descriptions follow from the codes.

use std::collections::BTreeMap;

use crate::error::{
    ErrorCode::{self, *},
    Retry,
};

/// Errors of every operation: those of the gateway, failures of the service, and unknown query parameters.
pub(super) const ANYWHERE: &[ErrorCode] = &[
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
pub(super) const GATEWAY: &[ErrorCode] = &[Forbidden, TooManyRequests, FunctionFailed, FunctionTimedOut];

/// Errors of parsing a JSON body.
pub(super) const BODY: &[ErrorCode] = &[
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
pub(super) const USER_TURN: &[ErrorCode] = &[InputRequired, BodyNotText, BodyNotMultipart];

/// Errors of reading a session.
pub(super) const SESSION: &[ErrorCode] = &[SessionNotFound];

/// Errors of writing to a deleted session.
pub(super) const DELETED: &[ErrorCode] = &[SessionDeleted];

/// Errors of reading a turn. An invalid path counts as an unknown session.
pub(super) const TURN: &[ErrorCode] = &[SessionNotFound, TurnNotFound];

/// Errors of reading a payload.
pub(super) const PAYLOAD: &[ErrorCode] = &[PayloadNotFound, InlineTooLarge];

/// Errors of starting or replaying a turn (I9).
pub(super) const START: &[ErrorCode] = &[
    SessionNotFound,
    SessionDeleted,
    TurnNotFound,
    TurnIdConflict,
    TurnInProgress,
    SessionBusy,
    SessionContextMismatch,
    AgentContextNotFound,
    ConversationContextNotFound,
];

/// Errors of rerunning a turn.
pub(super) const RERUN: &[ErrorCode] = &[SessionNotFound, TurnNotFound, InputRequired];

/// Errors of submitting feedback. The turn must have ended.
pub(super) const FEEDBACK: &[ErrorCode] = &[SessionBusy];

/// Errors of forking a session.
pub(super) const FORK: &[ErrorCode] = &[SessionNotFound, TurnNotFound, TurnNotCompleted, SessionIdConflict];

/// Errors of importing sessions.
pub(super) const IMPORT: &[ErrorCode] = &[
    BodyMissing,
    BodyNotJson,
    MemberUnknown,
    MemberInvalid,
    UnsupportedMediaType,
    SessionIdConflict,
    SessionDeleted,
];

/// Errors of submitting tool results.
pub(super) const TOOL_RESULTS: &[ErrorCode] = &[
    TurnNotFound,
    TurnOfAnotherUser,
    SessionDeleted,
    TurnInProgress,
    TurnNotAwaitingTools,
    ToolResultsMismatch,
];

/// Errors of a failed turn. A replay returns the same error.
pub(super) const FAILED_TURN: &[ErrorCode] = &[
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
];

/// Groups the codes by status, in catalogue order.
pub(super) fn by_status(groups: &[&[ErrorCode]]) -> BTreeMap<u16, Vec<ErrorCode>> {
    let mut statuses: BTreeMap<u16, Vec<ErrorCode>> = BTreeMap::new();
    for code in ErrorCode::ALL {
        if groups.iter().any(|group| group.contains(code)) {
            statuses.entry(code.http_status()).or_default().push(*code);
        }
    }
    statuses
}

/// Describes the codes of a status, with their meaning and retry advice.
pub(super) fn description(codes: &[ErrorCode]) -> String {
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
