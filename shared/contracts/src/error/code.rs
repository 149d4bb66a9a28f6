//! The catalogue of error codes: one row each, with its status and what a retry can do.
//!
//! This is the only place that knows a status. `SystemError` follows from it: a 5xx is our fault,
//! anything else is not.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What sending the request again can do. It follows from the code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// Nothing until somebody changes something: the request, the session or the configuration.
    #[default]
    Never,
    /// The very same request, ids included, may succeed later.
    SameRequest,
    /// The turn ended failed and stays so; the same input under a new `TurnId` may succeed.
    NewTurn,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $status:literal, $retry:ident;)+) => {
        /// A stable, machine-readable code, written as its name. Closed: a new one is a change of
        /// the contract.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        pub enum ErrorCode {
            $($(#[doc = $doc])+ $name,)+
        }

        impl ErrorCode {
            /// Every code, in the order of the catalogue.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The HTTP status that repeats the outcome for machines.
            #[must_use]
            pub const fn http_status(self) -> u16 {
                match self { $(Self::$name => $status,)+ }
            }

            /// What sending the request again can do.
            #[must_use]
            pub const fn retry(self) -> Retry {
                match self { $(Self::$name => Retry::$retry,)+ }
            }

            /// The code as it is written on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)+ }
            }

            /// What the code means, in one or two sentences.
            #[must_use]
            pub fn summary(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),+).trim_start(),)+ }
            }
        }
    };
}

codes! {
    // The body.

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
    /// The content type is none of the calling shapes.
    UnsupportedMediaType = 415, Never;

    // The members; `Details` holds the path of the one concerned.

    /// A required member is absent.
    MemberRequired = 400, Never;
    /// The member may not be sent: in this scenario, or ever, because the server owns it.
    MemberForbidden = 400, Never;
    /// The contract knows no such member.
    MemberUnknown = 400, Never;
    /// The member is there twice, in one spelling or in two.
    MemberDuplicated = 400, Never;
    /// The member's type or value breaks its rule.
    MemberInvalid = 400, Never;
    /// The member is longer, deeper or more numerous than its limit.
    MemberTooLarge = 400, Never;
    /// A user turn has neither instruction nor artifact nor image.
    InputRequired = 400, Never;
    /// A parameter of the path or the query breaks its rule.
    ParameterInvalid = 400, Never;

    // Who calls and what for.

    /// The caller is not authenticated.
    Unauthenticated = 401, Never;
    /// The caller may not do this.
    Forbidden = 403, Never;
    /// The turn's tools run for the user who asked, so nobody else can hand in their results.
    TurnOfAnotherUser = 403, Never;
    /// There is no such route.
    RouteNotFound = 404, Never;
    /// The route does not take this method.
    MethodNotAllowed = 405, Never;
    /// There is no such session, for this caller.
    SessionNotFound = 404, Never;
    /// There is no such turn, for this caller.
    TurnNotFound = 404, Never;
    /// There is no such payload, for this caller.
    PayloadNotFound = 404, Never;
    /// The payload is larger than what is answered inline, which is 4 MiB: read it by its link.
    InlineTooLarge = 413, Never;
    /// There is no such agent context, for this caller.
    AgentContextNotFound = 404, Never;
    /// There is no such conversation context, for this caller.
    ConversationContextNotFound = 404, Never;
    /// The caller, or everybody together, sends too many requests.
    TooManyRequests = 429, SameRequest;

    // The state of the session or turn.

    /// The turn id was used with another request; a new turn takes a new id.
    TurnIdConflict = 409, Never;
    /// The session id names a session already; a new one takes a new id.
    SessionIdConflict = 409, Never;
    /// The turn has no answer to go on from: it is open, or it failed.
    TurnNotCompleted = 409, Never;
    /// The same request still runs; asking again later returns its outcome.
    TurnInProgress = 409, SameRequest;
    /// Another turn of the session runs.
    SessionBusy = 409, SameRequest;
    /// The session was deleted: it takes no turns until it is restored.
    SessionDeleted = 409, Never;
    /// The session's contexts were fixed by its first turn and are others.
    SessionContextMismatch = 409, Never;
    /// The turn does not wait for tool results.
    TurnNotAwaitingTools = 409, Never;
    /// The tool results differ from the calls in count, ids or order.
    ToolResultsMismatch = 409, Never;
    /// The turn was cancelled.
    TurnCancelled = 409, NewTurn;
    /// A newer turn of the session took the place of this one.
    TurnSuperseded = 409, NewTurn;
    /// The tool results did not arrive in time.
    ToolDeadlineExpired = 409, NewTurn;

    // How a turn fails.

    /// Every attempt at the turn broke off.
    TurnAbandoned = 503, NewTurn;
    /// The turn's outcome could not be stored.
    TurnNotStored = 503, NewTurn;
    /// The model provider limits the rate of requests.
    ModelRateLimited = 503, NewTurn;
    /// The model provider's account has no budget left; an operator must act.
    ModelQuotaExceeded = 503, Never;
    /// The input does not fit the model: send less, or start a session.
    ModelContextTooLong = 400, Never;
    /// The model provider can't read an image or a file of the request: send it in another form, or without.
    ModelAttachmentRefused = 400, Never;
    /// The model provider's content filter refused the input or the answer.
    ModelContentFiltered = 400, Never;
    /// The model provider refuses the service's key; an operator must act.
    ModelMisconfigured = 502, Never;
    /// The model provider does not know the model that is configured; an operator must act.
    ModelNotFound = 502, Never;
    /// The model provider refused the request.
    ModelRejected = 502, Never;
    /// The model provider could not be reached or failed.
    ModelUnavailable = 503, NewTurn;
    /// The model did not answer in time.
    ModelTimedOut = 504, NewTurn;
    /// The model's reply broke off or is not what its API promises.
    ModelReplyMalformed = 502, NewTurn;
    /// The model stopped before its answer was complete.
    ModelReplyIncomplete = 502, NewTurn;
    /// The model answered with neither text nor a call, also when it was asked again.
    ModelReplyEmpty = 502, NewTurn;
    /// The model called tools more often than a turn may.
    ToolRoundsExceeded = 502, NewTurn;

    // Ours.

    /// The storage did not answer; nothing was accepted.
    StorageUnavailable = 503, SameRequest;
    /// What is stored was written by a newer version of the service; an operator must act.
    DataTooNew = 500, Never;
    /// Something of ours went wrong.
    Internal = 500, SameRequest;
    /// The function ended without an answer.
    FunctionFailed = 502, SameRequest;
    /// The function did not answer in time.
    FunctionTimedOut = 504, SameRequest;
}

impl ErrorCode {
    /// Whether the very same request, ids included, may succeed later.
    ///
    /// A failed turn is stored and replayed, so its code is not retryable in this sense; see
    /// [`Retry::NewTurn`].
    #[must_use]
    pub const fn retryable(self) -> bool {
        match self.retry() {
            Retry::SameRequest => true,
            Retry::Never | Retry::NewTurn => false,
        }
    }

    /// Whether the fault is ours, not the caller's.
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
    fn every_status_is_one_that_the_surface_documents() {
        let documented = [400, 401, 403, 404, 405, 409, 413, 415, 429, 500, 502, 503, 504];
        for code in ErrorCode::ALL {
            assert!(documented.contains(&code.http_status()), "{code}");
        }
    }

    #[test]
    fn a_code_is_written_as_its_name() {
        for code in ErrorCode::ALL {
            let text = serde_json::to_string(code).unwrap();
            assert_eq!(text, format!("\"{code}\""));
            assert_eq!(serde_json::from_str::<ErrorCode>(&text).unwrap(), *code);
        }
    }

    #[test]
    fn a_contract_violation_is_never_retryable_nor_ours() {
        for code in ErrorCode::ALL.iter().filter(|c| c.http_status() == 400) {
            assert!(!code.retryable() && !code.system_error(), "{code}");
        }
    }

    #[test]
    fn a_summary_is_a_sentence() {
        for code in ErrorCode::ALL {
            let summary = code.summary();
            assert!(summary.ends_with('.') && !summary.starts_with(' '), "{summary}");
        }
    }
}
