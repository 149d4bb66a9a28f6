//! Every error a client can see: a closed set of codes and, per error, a message that says what to do.
//!
//! Deliberately absent: the sources of an error. A body never carries a provider's words, a key or
//! a stack (I14); whoever maps an internal error to one of these logs the original first, with all its
//! [`causes`].

mod causes;
mod code;
mod misread;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use causes::causes;
pub use code::{ErrorCode, Retry};
pub use misread::Misread;

/// One error of an [`crate::InvokeResult`]: `{ErrorCode, Message, Details?, SystemError, Retry,
/// RetryAfterSeconds?}` (ruling: InvokeResult).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(into = "Wire", from = "Wire")]
#[error("{error_code}: {message}")]
pub struct Error {
    /// What kind of error it is.
    pub error_code: ErrorCode,
    /// What was wrong and how to fix it.
    pub message: String,
    /// The member, rule or id concerned.
    pub details: Option<String>,
    /// In how many seconds to try again, where that helps and the service can tell.
    pub retry_after_seconds: Option<u64>,
}

impl Error {
    /// An error with a message that says what was wrong and how to fix it.
    #[must_use]
    pub fn new(error_code: ErrorCode, message: impl Into<String>) -> Self {
        Self { error_code, message: message.into(), details: None, retry_after_seconds: None }
    }

    /// Names the member, rule or id concerned.
    #[must_use]
    pub fn with_details(mut self, details: impl Into<String>) -> Self {
        self.details = Some(details.into());
        self
    }

    /// Says in how long to try again, in whole seconds, at least one.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        let seconds = wait.as_millis().div_ceil(1_000).max(1);
        self.retry_after_seconds = Some(u64::try_from(seconds).unwrap_or(u64::MAX));
        self
    }

    /// True when the fault is ours, not the caller's; follows from the code.
    #[must_use]
    pub fn system_error(&self) -> bool {
        self.error_code.system_error()
    }
}

impl From<ErrorCode> for Error {
    /// The general error of a code, for places that know nothing more specific.
    fn from(code: ErrorCode) -> Self {
        Self::new(code, code.summary())
    }
}

/// One error of a failed invocation.
//
// `SystemError` and `Retry` are derived from the code when they are written and ignored when they are read: they
// can't disagree with it, and a client of an older version still reads a code whose side changed.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Error))]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Wire {
    error_code: ErrorCode,
    /// What was wrong and how to fix it.
    message: String,
    /// The member, rule or id concerned.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    details: Option<String>,
    /// True when the fault is ours, not the caller's.
    system_error: bool,
    /// What sending the request again can do.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    retry: Retry,
    /// In how many seconds to do so, where the service can tell. As the header `Retry-After`; a stream's `result` has
    /// no other.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    retry_after_seconds: Option<u64>,
}

impl From<Error> for Wire {
    fn from(error: Error) -> Self {
        Self {
            system_error: error.system_error(),
            retry: error.error_code.retry(),
            error_code: error.error_code,
            message: error.message,
            details: error.details,
            retry_after_seconds: error.retry_after_seconds,
        }
    }
}

impl From<Wire> for Error {
    fn from(wire: Wire) -> Self {
        Self {
            error_code: wire.error_code,
            message: wire.message,
            details: wire.details,
            retry_after_seconds: wire.retry_after_seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_error_is_written_from_the_code_and_never_read() {
        let ours = Error::from(ErrorCode::Internal);
        let text = serde_json::to_string(&ours).unwrap();
        assert!(text.contains(r#""SystemError":true"#), "{text}");
        let lying = text.replace("true", "false");
        let read: Error = serde_json::from_str(&lying).unwrap();
        assert!(read.system_error());
        assert_eq!(read, ours);
    }

    #[test]
    fn a_retry_is_written_from_the_code_and_the_wait_in_whole_seconds() {
        let busy = Error::new(ErrorCode::SessionBusy, "busy").with_retry_after(Duration::from_millis(1_200));
        let text = serde_json::to_string(&busy).unwrap();
        assert!(text.ends_with(r#""Retry":"same_request","RetryAfterSeconds":2}"#), "{text}");
        assert_eq!(serde_json::from_str::<Error>(&text).unwrap(), busy);
        let old = r#"{"ErrorCode":"SessionBusy","Message":"busy","SystemError":false}"#;
        assert_eq!(serde_json::from_str::<Error>(old).unwrap().retry_after_seconds, None);
    }

    #[test]
    fn details_are_absent_when_there_are_none() {
        let text = serde_json::to_string(&Error::new(ErrorCode::Forbidden, "no")).unwrap();
        assert_eq!(text, r#"{"ErrorCode":"Forbidden","Message":"no","SystemError":false,"Retry":"never"}"#);
    }
}
