//! The catalogue of error codes: one row each, with its HTTP status and retry advice.
//!
//! This is the only place that defines a status. `SystemError` follows from it: true for a 5xx, false for anything
//! else.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Retry advice for an error. It follows from the code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// Don't retry. Change the request, the session or the configuration first.
    #[default]
    Never,
    /// The same request, with the same ids, may succeed later.
    SameRequest,
    /// The turn failed for good. The same input under a new `TurnId` may succeed.
    NewTurn,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $status:literal, $retry:ident;)+) => {
        /// A stable, machine-readable error code. The set is closed: adding one changes the contract.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        pub enum ErrorCode {
            $($(#[doc = $doc])+ $name,)+
        }

        impl ErrorCode {
            /// Every code, in catalogue order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The HTTP status of responses with this code.
            #[must_use]
            pub const fn http_status(self) -> u16 {
                match self { $(Self::$name => $status,)+ }
            }

            /// Retry advice for this code.
            #[must_use]
            pub const fn retry(self) -> Retry {
                match self { $(Self::$name => Retry::$retry,)+ }
            }

            /// The code as it appears on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)+ }
            }

            /// The meaning of the code, in one or two sentences.
            #[must_use]
            pub fn summary(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),+).trim_start(),)+ }
            }
        }
    };
}

codes! {
    // Request body.

    /// The request has no body.
    BodyMissing = 400, Never;
    /// The body is not one JSON object in UTF-8.
    BodyNotJson = 400, Never;
    /// A plain text body is not UTF-8.
    BodyNotText = 400, Never;
    /// The body is not the multipart form that its content type announces.
    BodyNotMultipart = 400, Never;
    /// The body is larger than a request may be, which is 4 MiB; quotes, backslashes and line ends may count twice.
    PayloadTooLarge = 413, Never;
    /// The content type is not supported.
    UnsupportedMediaType = 415, Never;

    // Members. `Details` holds the path of the member.

    /// A required member is absent.
    MemberRequired = 400, Never;
    /// The member may not be sent: in this scenario, or ever, because the server owns it.
    MemberForbidden = 400, Never;
    /// The member is not part of the contract.
    MemberUnknown = 400, Never;
    /// The member is present twice, in one spelling or in two.
    MemberDuplicated = 400, Never;
    /// The member's type or value breaks its rule.
    MemberInvalid = 400, Never;
    /// The member is longer, deeper or more numerous than its limit.
    MemberTooLarge = 400, Never;
    /// A user turn has neither instruction nor artifact nor image.
    InputRequired = 400, Never;
    /// A parameter of the path or the query breaks its rule.
    ParameterInvalid = 400, Never;

    // Caller and resource.

    /// The caller is not authenticated.
    Unauthenticated = 401, Never;
    /// The caller may not do this.
    Forbidden = 403, Never;
    /// Only the user who started the turn can submit its tool results.
    TurnOfAnotherUser = 403, Never;
    /// There is no such route.
    RouteNotFound = 404, Never;
    /// The route does not support this method.
    MethodNotAllowed = 405, Never;
    /// There is no such session, for this caller.
    SessionNotFound = 404, Never;
    /// There is no such turn, for this caller.
    TurnNotFound = 404, Never;
    /// There is no such payload, for this caller.
    PayloadNotFound = 404, Never;
    /// The payload is too large to be returned inline (over 4 MiB); use its link.
    InlineTooLarge = 413, Never;
    /// There is no such agent context, for this caller.
    AgentContextNotFound = 404, Never;
    /// There is no such conversation context, for this caller.
    ConversationContextNotFound = 404, Never;
    /// There is no such mode, for this caller.
    ModeNotFound = 404, Never;
    /// There is no such connection, for this caller.
    ConnectionNotFound = 404, Never;
    /// There is no such webhook, for this caller.
    WebhookNotFound = 404, Never;
    /// There is no such delivery of the webhook; it may have expired.
    DeliveryNotFound = 404, Never;
    /// There is no call with this id and an unknown outcome in the turn; it may have been resolved.
    EffectNotFound = 404, Never;
    /// There is no such approval, for this caller.
    ApprovalNotFound = 404, Never;
    /// The caller may not answer this approval.
    ApprovalNotAllowed = 403, Never;
    /// There is no such version of the context, or it is a deletion.
    ContextVersionNotFound = 404, Never;
    /// There is no such document, for this caller.
    KnowledgeNotFound = 404, Never;
    /// The org has as many documents as it may have; delete one first.
    KnowledgeFull = 409, Never;
    /// The deployment has no vector database to index documents in; an operator must act.
    KnowledgeNotConfigured = 409, Never;
    /// The org's policy doesn't allow a model, provider, tool or file of the turn; nothing was started.
    ForbiddenByPolicy = 403, Never;
    /// An operator has disabled the org, or a user, agent or model of the turn; nothing was started.
    DisabledByOperator = 403, Never;
    /// The resource isn't in the state that `If-Match` or `If-None-Match` requires; read it again.
    PreconditionFailed = 412, Never;
    /// Too many requests, from this caller or in total.
    TooManyRequests = 429, SameRequest;
    /// A budget is used up until its window ends; nothing was started.
    BudgetExceeded = 429, SameRequest;

    // State of the session or turn.

    /// The turn id was used with a different request; choose a new id.
    TurnIdConflict = 409, Never;
    /// The session id is already in use; choose a new id.
    SessionIdConflict = 409, Never;
    /// The turn has no answer to continue from: it is open, or it failed.
    TurnNotCompleted = 409, Never;
    /// The same request is still running; repeating it later returns its outcome.
    TurnInProgress = 409, SameRequest;
    /// Another turn of the session is running.
    SessionBusy = 409, SameRequest;
    /// The session is deleted and accepts no turns until it is restored.
    SessionDeleted = 409, Never;
    /// An operator quarantined the session; it accepts no turns, results or changes until its release.
    SessionQuarantined = 409, Never;
    /// The contexts differ from those that the session's first turn fixed.
    SessionContextMismatch = 409, Never;
    /// The turn does not wait for tool results.
    TurnNotAwaitingTools = 409, Never;
    /// The tool results differ from the calls in count, ids or order.
    ToolResultsMismatch = 409, Never;
    /// The approval has an answer, which never changes.
    ApprovalAnswered = 409, Never;
    /// Nobody answered the approval in time.
    ApprovalExpired = 409, Never;
    /// The turn doesn't wait for the approval any more: it ended, or another turn superseded it.
    ApprovalClosed = 409, Never;
    /// The hash is that of another call; read the approval again.
    ApprovalMismatch = 409, Never;
    /// The tool's policy doesn't allow an approval to change the arguments.
    ApprovalEditNotAllowed = 409, Never;
    /// The turn was cancelled.
    TurnCancelled = 409, NewTurn;
    /// A newer turn of the session superseded this one.
    TurnSuperseded = 409, NewTurn;
    /// The tool results did not arrive in time.
    ToolDeadlineExpired = 409, NewTurn;

    // Failures of a turn.

    /// Every attempt at the turn ended unexpectedly.
    TurnAbandoned = 503, NewTurn;
    /// The turn's outcome could not be stored.
    TurnNotStored = 503, NewTurn;
    /// The model provider limited the rate of requests.
    ModelRateLimited = 503, NewTurn;
    /// The model provider's account has no budget left; an operator must act.
    ModelQuotaExceeded = 503, Never;
    /// The input does not fit the model: send less, or start a session.
    ModelContextTooLong = 400, Never;
    /// The model provider can't read an image or a file of the request: send it in another form, or without.
    ModelAttachmentRefused = 400, Never;
    /// The model provider's content filter refused the input or the answer.
    ModelContentFiltered = 400, Never;
    /// The model provider rejected the service's key; an operator must act.
    ModelMisconfigured = 502, Never;
    /// The model provider does not know the model that is configured; an operator must act.
    ModelNotFound = 502, Never;
    /// The model provider refused the request.
    ModelRejected = 502, Never;
    /// The model provider could not be reached or failed.
    ModelUnavailable = 503, NewTurn;
    /// The model did not answer in time.
    ModelTimedOut = 504, NewTurn;
    /// The model's reply is truncated or invalid.
    ModelReplyMalformed = 502, NewTurn;
    /// The model stopped before its answer was complete.
    ModelReplyIncomplete = 502, NewTurn;
    /// The model replied with neither text nor a tool call, even after a retry.
    ModelReplyEmpty = 502, NewTurn;
    /// The model exceeded the limit of tool rounds of a turn.
    ToolRoundsExceeded = 502, NewTurn;
    /// The turn stopped because a budget was used up.
    TurnOverBudget = 429, NewTurn;

    // Failures of the service.

    /// The storage is unavailable; nothing was accepted.
    StorageUnavailable = 503, SameRequest;
    /// The stored data was written by a newer version of the service; an operator must act.
    DataTooNew = 500, Never;
    /// An internal error occurred.
    Internal = 500, SameRequest;
    /// The function ended without an answer.
    FunctionFailed = 502, SameRequest;
    /// The function did not answer in time.
    FunctionTimedOut = 504, SameRequest;
}

impl ErrorCode {
    /// True if the same request, with the same ids, may succeed later.
    ///
    /// A failed turn is stored and replayed, so its code is not retryable in this sense. See [`Retry::NewTurn`].
    #[must_use]
    pub const fn retryable(self) -> bool {
        match self.retry() {
            Retry::SameRequest => true,
            Retry::Never | Retry::NewTurn => false,
        }
    }

    /// True if the service is at fault, not the caller.
    #[must_use]
    pub const fn system_error(self) -> bool {
        self.http_status() >= 500
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_is_documented() {
        let documented = [400, 401, 403, 404, 405, 409, 412, 413, 415, 429, 500, 502, 503, 504];
        for code in ErrorCode::ALL {
            assert!(documented.contains(&code.http_status()), "{code}");
        }
    }

    #[test]
    fn code_serializes_as_its_name() {
        for code in ErrorCode::ALL {
            let text = serde_json::to_string(code).unwrap();
            assert_eq!(text, format!("\"{code}\""));
            assert_eq!(serde_json::from_str::<ErrorCode>(&text).unwrap(), *code);
        }
    }

    #[test]
    fn bad_requests_are_not_retryable_nor_system_errors() {
        for code in ErrorCode::ALL.iter().filter(|c| c.http_status() == 400) {
            assert!(!code.retryable() && !code.system_error(), "{code}");
        }
    }

    #[test]
    fn summaries_are_sentences() {
        for code in ErrorCode::ALL {
            let summary = code.summary();
            assert!(summary.ends_with('.') && !summary.starts_with(' '), "{summary}");
        }
    }
}
