//! Every error a client can see: a closed set of codes and, per error, a message that says what to do.
//!
//! Deliberately absent: the sources of an error. A body never carries a provider's words, a key or
//! a stack (I14); whoever maps an internal error to one of these logs the original first, with all its
//! [`causes`].

mod causes;
mod code;
mod misread;

use serde::{Deserialize, Serialize};

pub use causes::causes;
pub use code::{ErrorCode, Retry};
pub use misread::Misread;

/// One error of an [`crate::InvokeResult`]: `{ErrorCode, Message, Details?, SystemError}`
/// (ruling: InvokeResult).
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
}

impl Error {
    /// An error with a message that says what was wrong and how to fix it.
    #[must_use]
    pub fn new(error_code: ErrorCode, message: impl Into<String>) -> Self {
        Self { error_code, message: message.into(), details: None }
    }

    /// Names the member, rule or id concerned.
    #[must_use]
    pub fn with_details(mut self, details: impl Into<String>) -> Self {
        self.details = Some(details.into());
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
// `SystemError` is derived from the code when it is written and ignored when it is read: the two can't
// disagree, and a client of an older version still reads a code whose side changed.
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
}

impl From<Error> for Wire {
    fn from(error: Error) -> Self {
        Self {
            system_error: error.system_error(),
            error_code: error.error_code,
            message: error.message,
            details: error.details,
        }
    }
}

impl From<Wire> for Error {
    fn from(wire: Wire) -> Self {
        Self { error_code: wire.error_code, message: wire.message, details: wire.details }
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
    fn details_are_absent_when_there_are_none() {
        let text = serde_json::to_string(&Error::new(ErrorCode::Forbidden, "no")).unwrap();
        assert_eq!(text, r#"{"ErrorCode":"Forbidden","Message":"no","SystemError":false}"#);
    }
}
