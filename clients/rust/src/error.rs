//! Errors and their retry advice.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;

/// An error of a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The API's base URL is invalid.
    #[error("invalid API URL {0:?}: it must begin with https:// or http://")]
    InvalidBaseUrl(String),
    /// No HTTP client can be made. It lacks the system's root certificates.
    #[error(
        "no root certificates were found on this system. Install them (the package ca-certificates), or set SSL_CERT_FILE"
    )]
    NoHttpClient,
    /// There is no token for the request. The text says why.
    #[error("{0}")]
    NoToken(String),
    /// The API can't be reached.
    #[error("can't reach the API at {0}. Is it running?")]
    Unreachable(String),
    /// The connection closed before the response was complete.
    #[error("the connection closed before the response was complete")]
    Interrupted,
    /// A response with this status that the API did not send, for example one of a proxy.
    #[error("unexpected response with status {0}, not from the API")]
    UnexpectedResponse(u16),
    /// An error that the API returned.
    #[error("{0}")]
    Api(Box<ApiError>),
}

/// Retry advice for an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// The same request, with the same ids, may succeed later.
    SameRequest,
    /// The turn failed for good. The same input may succeed as a new turn.
    NewTurn,
    /// Don't retry. Also stands for values that a later version adds.
    #[serde(other)]
    Never,
}

/// An error of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// The error code.
    pub code: String,
    /// The message.
    pub message: String,
    /// The member, rule or id that the error is about.
    pub details: Option<String>,
    /// The retry advice.
    pub retry: Retry,
    /// The time to wait before a retry.
    pub retry_after: Option<Duration>,
    /// The id of the request in the service's logs.
    pub request_id: Option<String>,
    /// Further errors of the same request.
    pub others: Vec<Self>,
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.details {
            Some(details) => write!(f, "{} ({}: {details})", self.message, self.code),
            None => write!(f, "{} ({})", self.message, self.code),
        }
    }
}

/// An error as it is on the wire.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(crate) struct WireError {
    error_code: String,
    message: String,
    details: Option<String>,
    retry: Option<Retry>,
    retry_after_seconds: Option<f64>,
}

/// Metadata of a response outside its body.
#[derive(Debug, Default, Clone)]
pub(crate) struct ResponseMeta {
    pub(crate) status: Option<u16>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) request_id: Option<String>,
}

/// Transient error codes of the gateway, which don't carry retry advice.
const TRANSIENT_CODES: [&str; 3] = ["TooManyRequests", "FunctionFailed", "FunctionTimedOut"];

impl WireError {
    /// Converts the errors of a response, the first of which decides about retries.
    pub(crate) fn into_error(self, others: Vec<Self>, meta: &ResponseMeta) -> Error {
        let others = others.into_iter().map(|other| other.into_api_error(meta)).collect();
        Error::Api(Box::new(ApiError { others, ..self.into_api_error(meta) }))
    }

    fn into_api_error(self, meta: &ResponseMeta) -> ApiError {
        let Self { error_code, message, details, retry, retry_after_seconds } = self;
        let retry_after = retry_after_seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let retry_after = retry_after.or(meta.retry_after);
        let is_temporary = TRANSIENT_CODES.contains(&error_code.as_str())
            || meta.status.is_some_and(is_transient)
            || meta.status == Some(409) && retry_after.is_some();
        let retry = retry.unwrap_or(if is_temporary { Retry::SameRequest } else { Retry::Never });
        ApiError {
            code: error_code,
            message,
            details,
            retry,
            retry_after,
            request_id: meta.request_id.clone(),
            others: Vec::new(),
        }
    }
}

/// True if a request that got this status may succeed later, whoever sent the response.
fn is_transient(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502..=504)
}

impl Error {
    /// The retry advice.
    #[must_use]
    pub fn retry(&self) -> Retry {
        match self {
            Self::InvalidBaseUrl(_) | Self::NoHttpClient | Self::NoToken(_) => Retry::Never,
            Self::Unreachable(_) | Self::Interrupted => Retry::SameRequest,
            Self::UnexpectedResponse(status) if is_transient(*status) => Retry::SameRequest,
            Self::UnexpectedResponse(_) => Retry::Never,
            Self::Api(error) => error.retry,
        }
    }

    /// The error code, if the API returned the error.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Api(error) => Some(&error.code),
            _ => None,
        }
    }

    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Api(error) => error.retry_after,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api_error(json: &str, status: u16, after: Option<u64>) -> Error {
        let meta = ResponseMeta {
            status: Some(status),
            retry_after: after.map(Duration::from_secs),
            request_id: None,
        };
        serde_json::from_str::<WireError>(json).unwrap().into_error(Vec::new(), &meta)
    }

    #[test]
    fn retry_advice_from_body_or_status() {
        for (json, status, after, retry) in [
            (r#"{"ErrorCode":"A","Message":"a","Retry":"new_turn"}"#, 503, None, Retry::NewTurn),
            (r#"{"ErrorCode":"A","Message":"a","Retry":"another_word"}"#, 503, None, Retry::Never),
            (r#"{"ErrorCode":"SessionBusy","Message":"a"}"#, 409, Some(2), Retry::SameRequest),
            (r#"{"ErrorCode":"RequestConflict","Message":"a"}"#, 409, None, Retry::Never),
            (r#"{"ErrorCode":"FunctionFailed","Message":"a"}"#, 502, None, Retry::SameRequest),
            (r#"{"ErrorCode":"A","Message":"a"}"#, 400, None, Retry::Never),
        ] {
            assert_eq!(api_error(json, status, after).retry(), retry, "{json}");
        }
    }

    #[test]
    fn body_wait_overrides_header() {
        let error = api_error(r#"{"ErrorCode":"A","Message":"a","RetryAfterSeconds":0.5}"#, 409, Some(30));
        assert_eq!(error.retry_after(), Some(Duration::from_millis(500)));
        let error = api_error(r#"{"ErrorCode":"A","Message":"a","RetryAfterSeconds":-1}"#, 409, Some(30));
        assert_eq!(error.retry_after(), Some(Duration::from_secs(30)));
    }
}
