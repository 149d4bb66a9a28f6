//! Groups of error codes, by the task of an operation. Statuses and descriptions follow from the codes.

use crate::error::ErrorCode::{self, *};

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
pub const GATEWAY: &[ErrorCode] = &[Forbidden, TooManyRequests, FunctionFailed, FunctionTimedOut];

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

/// Errors of writing to a deleted or quarantined session.
pub(super) const CLOSED: &[ErrorCode] = &[SessionDeleted, SessionQuarantined];

/// Errors of a change that a deleted session accepts, and a quarantined one does not.
pub(super) const QUARANTINED: &[ErrorCode] = &[SessionQuarantined];

/// Errors of quarantining a session.
pub(super) const DELETED: &[ErrorCode] = &[SessionDeleted];

/// Errors of reading a turn. An invalid path counts as an unknown session.
pub(super) const TURN: &[ErrorCode] = &[SessionNotFound, TurnNotFound];

/// Errors of reading a payload.
pub(super) const PAYLOAD: &[ErrorCode] = &[PayloadNotFound, InlineTooLarge];

/// Errors of starting or replaying a turn (I9).
pub(super) const START: &[ErrorCode] = &[
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
pub(super) const RERUN: &[ErrorCode] = &[SessionNotFound, TurnNotFound, InputRequired];

/// Errors of reading an agent context.
pub(super) const AGENT: &[ErrorCode] = &[AgentContextNotFound];

/// Errors of reading a conversation context.
pub(super) const CONVERSATION: &[ErrorCode] = &[ConversationContextNotFound];

/// Errors of reading a mode.
pub(super) const MODE: &[ErrorCode] = &[ModeNotFound];

/// Errors of reading a connection.
pub(super) const CONNECTION: &[ErrorCode] = &[ConnectionNotFound];

/// Errors of reading a webhook.
pub(super) const WEBHOOK: &[ErrorCode] = &[WebhookNotFound];

/// Errors of replaying deliveries.
pub(super) const DELIVERY: &[ErrorCode] = &[DeliveryNotFound];

/// Errors of resolving a call whose outcome is unknown.
pub(super) const EFFECT: &[ErrorCode] = &[EffectNotFound];

/// Errors of reading an approval.
pub(super) const APPROVAL: &[ErrorCode] = &[ApprovalNotFound];

/// Errors of answering an approval.
pub(super) const ANSWER: &[ErrorCode] = &[
    ApprovalNotAllowed,
    ApprovalAnswered,
    ApprovalExpired,
    ApprovalClosed,
    ApprovalMismatch,
    ApprovalEditNotAllowed,
    TurnInProgress,
];

/// Errors of reading a document for agents.
pub(super) const KNOWLEDGE: &[ErrorCode] = &[KnowledgeNotFound];

/// Errors of uploading one.
pub(super) const KNOWLEDGE_UPLOAD: &[ErrorCode] = &[KnowledgeFull, KnowledgeNotConfigured, KnowledgeNotFound];

/// Errors of reading a version of a context.
pub(super) const VERSION: &[ErrorCode] = &[ContextVersionNotFound];

/// Errors of a write that requires a state.
pub(super) const PRECONDITION: &[ErrorCode] = &[PreconditionFailed];

/// Errors of submitting feedback. The turn must have ended.
pub(super) const FEEDBACK: &[ErrorCode] = &[SessionBusy];

/// Errors of forking a session.
pub(super) const FORK: &[ErrorCode] =
    &[SessionNotFound, TurnNotFound, TurnNotCompleted, SessionIdConflict, DisabledByOperator];

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
    SessionQuarantined,
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
    TurnOverBudget,
];
