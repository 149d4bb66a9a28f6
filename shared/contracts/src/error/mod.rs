//! Errors that a client can see: a closed set of codes, and a message that says how to fix the problem.
//!
//! Deliberately absent: the sources of an error. A response body never carries a provider's message, a key or a
//! stack trace (I14). Code that maps an internal error to one of these logs the original first, with all its
//! [`causes`].

mod causes;
mod code;
mod json_error;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use causes::causes;
pub use code::{ErrorCode, Retry};
pub use json_error::JsonError;

/// One error of an [`crate::InvokeResult`]: `{ErrorCode, Message, Details?, SystemError, Retry,
/// RetryAfterSeconds?}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(into = "Wire", from = "Wire")]
#[error("{error_code}: {message}")]
pub struct Error {
    /// The error code.
    pub error_code: ErrorCode,
    /// A message that says what is wrong and how to fix it.
    pub message: String,
    /// The member, rule or id that the error is about.
    pub details: Option<String>,
    /// Seconds to wait before retrying. Set if a retry can help and the service knows the time.
    pub retry_after_seconds: Option<u64>,
}

impl Error {
    /// Creates an error with a message that says what is wrong and how to fix it.
    #[must_use]
    pub fn new(error_code: ErrorCode, message: impl Into<String>) -> Self {
        Self { error_code, message: message.into(), details: None, retry_after_seconds: None }
    }

    /// Sets the member, rule or id that the error is about.
    #[must_use]
    pub fn with_details(mut self, details: impl Into<String>) -> Self {
        self.details = Some(details.into());
        self
    }

    /// Sets the time to wait before a retry, rounded up to whole seconds, at least one.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        let seconds = wait.as_millis().div_ceil(1_000).max(1);
        self.retry_after_seconds = Some(u64::try_from(seconds).unwrap_or(u64::MAX));
        self
    }

    /// True if the service is at fault, not the caller. Follows from the code.
    #[must_use]
    pub fn system_error(&self) -> bool {
        self.error_code.system_error()
    }
}

impl From<ErrorCode> for Error {
    /// Creates an error with the general message of its code.
    fn from(code: ErrorCode) -> Self {
        Self::new(code, code.summary())
    }
}

/// One error of a failed invocation.
//
// `SystemError` and `Retry` are derived from the code when written and ignored when read. They can't contradict the
// code, and an old client can still read a code whose side changed.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Error))]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Wire {
    error_code: ErrorCode,
    /// A message that says what is wrong and how to fix it.
    message: String,
    /// The member, rule or id that the error is about.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    details: Option<String>,
    /// True if the service is at fault, not the caller.
    system_error: bool,
    /// Retry advice.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    retry: Retry,
    /// Seconds to wait before retrying, if the service knows the time. Equals the `Retry-After` header, which the
    /// `result` event of a stream doesn't have.
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
    fn system_error_derived_from_code() {
        let ours = Error::from(ErrorCode::Internal);
        let text = serde_json::to_string(&ours).unwrap();
        assert!(text.contains(r#""SystemError":true"#), "{text}");
        let lying = text.replace("true", "false");
        let read: Error = serde_json::from_str(&lying).unwrap();
        assert!(read.system_error());
        assert_eq!(read, ours);
    }

    #[test]
    fn retry_derived_from_code_and_wait_rounded_up() {
        let busy = Error::new(ErrorCode::SessionBusy, "busy").with_retry_after(Duration::from_millis(1_200));
        let text = serde_json::to_string(&busy).unwrap();
        assert!(text.ends_with(r#""Retry":"same_request","RetryAfterSeconds":2}"#), "{text}");
        assert_eq!(serde_json::from_str::<Error>(&text).unwrap(), busy);
        let old = r#"{"ErrorCode":"SessionBusy","Message":"busy","SystemError":false}"#;
        assert_eq!(serde_json::from_str::<Error>(old).unwrap().retry_after_seconds, None);
    }

    #[test]
    fn empty_details_are_omitted() {
        let text = serde_json::to_string(&Error::new(ErrorCode::Forbidden, "no")).unwrap();
        assert_eq!(text, r#"{"ErrorCode":"Forbidden","Message":"no","SystemError":false,"Retry":"never"}"#);
    }
}
