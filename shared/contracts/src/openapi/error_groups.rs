//! What can go wrong, by what an operation does. Statuses and descriptions follow from the codes.

use std::collections::BTreeMap;

use crate::error::{
    ErrorCode::{self, *},
    Retry,
};

/// What the gateway answers for any operation, what goes wrong on our side in any of them, and a query that
/// holds what its path doesn't take.
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

/// What only the gateway answers: always in the envelope, even where the client asked for plain text.
pub(super) const GATEWAY: &[ErrorCode] = &[Forbidden, TooManyRequests, FunctionFailed, FunctionTimedOut];

/// Reading a JSON body (AGN-034).
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

/// Reading a user turn in any of the calling shapes (AGN-034 §2.1, DD-001).
pub(super) const USER_TURN: &[ErrorCode] = &[InputRequired, BodyNotText, BodyNotMultipart];

/// A session by its id.
pub(super) const SESSION: &[ErrorCode] = &[SessionNotFound];

/// A session that takes no more.
pub(super) const DELETED: &[ErrorCode] = &[SessionDeleted];

/// A turn by its ids; a path that can't be read is answered as a session that is not there.
pub(super) const TURN: &[ErrorCode] = &[SessionNotFound, TurnNotFound];

/// A payload by its name.
pub(super) const PAYLOAD: &[ErrorCode] = &[PayloadNotFound, InlineTooLarge];

/// Starting a turn, or finding that it came before (I9).
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

/// Running a turn again (DD-006).
pub(super) const RERUN: &[ErrorCode] = &[SessionNotFound, TurnNotFound, InputRequired];

/// Saying something of a turn, which has to be over.
pub(super) const FEEDBACK: &[ErrorCode] = &[SessionBusy];

/// Making a session from a turn of another one.
pub(super) const FORK: &[ErrorCode] = &[SessionNotFound, TurnNotFound, TurnNotCompleted, SessionIdConflict];

/// Making sessions of an export.
pub(super) const IMPORT: &[ErrorCode] = &[
    BodyMissing,
    BodyNotJson,
    MemberUnknown,
    MemberInvalid,
    UnsupportedMediaType,
    SessionIdConflict,
    SessionDeleted,
];

/// Handing in tool results (AGN-034 §2.2).
pub(super) const TOOL_RESULTS: &[ErrorCode] = &[
    TurnNotFound,
    TurnOfAnotherUser,
    SessionDeleted,
    TurnInProgress,
    TurnNotAwaitingTools,
    ToolResultsMismatch,
];

/// How a turn can fail; a replay answers the same.
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

/// The codes of several groups by their status, in the order of the catalogue.
pub(super) fn by_status(groups: &[&[ErrorCode]]) -> BTreeMap<u16, Vec<ErrorCode>> {
    let mut statuses: BTreeMap<u16, Vec<ErrorCode>> = BTreeMap::new();
    for code in ErrorCode::ALL {
        if groups.iter().any(|group| group.contains(code)) {
            statuses.entry(code.http_status()).or_default().push(*code);
        }
    }
    statuses
}

/// The codes of a status, for people: what each means and what a retry can do.
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
