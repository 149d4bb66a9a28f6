//! What goes wrong, and what sending again can do.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;

/// A request that came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The base of the API is no URL.
    #[error("{0:?} is no URL of an API: it begins with https:// or http://")]
    Base(String),
    /// No answer at all.
    #[error("the API could not be reached at {0}")]
    Unreachable(String),
    /// An answer that broke off.
    #[error("the connection ended before the answer did")]
    Interrupted,
    /// An answer of something that stands before the API.
    #[error("the answer (status {0}) is not the API's")]
    Unreadable(u16),
    /// The API's own word.
    #[error("{0}")]
    Refused(Box<Refusal>),
}

/// What sending again can do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// The very same request, ids included, can come through later.
    SameRequest,
    /// This turn stays as it is; the same input can come through as a new one.
    NewTurn,
    /// Nothing, until somebody changes something. Also whatever a later version says.
    #[serde(other)]
    Never,
}

/// An error as the API tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Its code.
    pub code: String,
    /// What is wrong, for people.
    pub message: String,
    /// The member, rule or id concerned.
    pub details: Option<String>,
    /// What sending again can do.
    pub retry: Retry,
    /// How long to wait before that.
    pub after: Option<Duration>,
    /// What names the request in the service's logs.
    pub request_id: Option<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.details {
            Some(details) => write!(f, "{} ({}: {details})", self.message, self.code),
            None => write!(f, "{} ({})", self.message, self.code),
        }
    }
}

/// An error on the wire.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(crate) struct Told {
    error_code: String,
    message: String,
    details: Option<String>,
    retry: Option<Retry>,
    retry_after_seconds: Option<f64>,
}

/// What comes with an error outside of its body.
#[derive(Debug, Default, Clone)]
pub(crate) struct Around {
    pub(crate) status: Option<u16>,
    pub(crate) after: Option<Duration>,
    pub(crate) request_id: Option<String>,
}

/// Codes that come from what stands before the functions, in the API's own form, and pass.
const PASSING: [&str; 3] = ["TooManyRequests", "FunctionFailed", "FunctionTimedOut"];

impl Told {
    pub(crate) fn refusal(self, around: Around) -> Error {
        let Self { error_code, message, details, retry, retry_after_seconds } = self;
        let after = retry_after_seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let after = after.or(around.after);
        let passes = PASSING.contains(&error_code.as_str())
            || around.status.is_some_and(is_passing)
            || around.status == Some(409) && after.is_some();
        let retry = retry.unwrap_or(if passes { Retry::SameRequest } else { Retry::Never });
        Error::Refused(Box::new(Refusal {
            code: error_code,
            message,
            details,
            retry,
            after,
            request_id: around.request_id,
        }))
    }
}

/// Whether an answer of this status, by whomever, can be another one later.
fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502..=504)
}

impl Error {
    /// What sending again can do.
    #[must_use]
    pub fn retry(&self) -> Retry {
        match self {
            Self::Base(_) => Retry::Never,
            Self::Unreachable(_) | Self::Interrupted => Retry::SameRequest,
            Self::Unreadable(status) if is_passing(*status) => Retry::SameRequest,
            Self::Unreadable(_) => Retry::Never,
            Self::Refused(refusal) => refusal.retry,
        }
    }

    /// The API's code, where it is the API's error.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused(refusal) => Some(&refusal.code),
            _ => None,
        }
    }

    pub(crate) fn after(&self) -> Option<Duration> {
        match self {
            Self::Refused(refusal) => refusal.after,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(json: &str, status: u16, after: Option<u64>) -> Error {
        let around = Around { status: Some(status), after: after.map(Duration::from_secs), request_id: None };
        serde_json::from_str::<Told>(json).unwrap().refusal(around)
    }

    #[test]
    fn an_error_says_itself_what_sending_again_can_do() {
        for (json, status, after, retry) in [
            (r#"{"ErrorCode":"A","Message":"a","Retry":"new_turn"}"#, 503, None, Retry::NewTurn),
            (r#"{"ErrorCode":"A","Message":"a","Retry":"another_word"}"#, 503, None, Retry::Never),
            (r#"{"ErrorCode":"SessionBusy","Message":"a"}"#, 409, Some(2), Retry::SameRequest),
            (r#"{"ErrorCode":"RequestConflict","Message":"a"}"#, 409, None, Retry::Never),
            (r#"{"ErrorCode":"FunctionFailed","Message":"a"}"#, 502, None, Retry::SameRequest),
            (r#"{"ErrorCode":"A","Message":"a"}"#, 400, None, Retry::Never),
        ] {
            assert_eq!(refusal(json, status, after).retry(), retry, "{json}");
        }
    }

    #[test]
    fn the_body_says_the_wait_before_the_header_does() {
        let told = refusal(r#"{"ErrorCode":"A","Message":"a","RetryAfterSeconds":0.5}"#, 409, Some(30));
        assert_eq!(told.after(), Some(Duration::from_millis(500)));
        let told = refusal(r#"{"ErrorCode":"A","Message":"a","RetryAfterSeconds":-1}"#, 409, Some(30));
        assert_eq!(told.after(), Some(Duration::from_secs(30)));
    }
}
