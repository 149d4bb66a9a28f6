//! Responses over HTTP, errors included.

use axum::{
    body::to_bytes,
    extract::{Query, Request, rejection::BytesRejection},
    middleware::Next,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
pub use fronts::json;
use fronts::{bytes, from_envelope};
use http::{
    HeaderName, HeaderValue, Uri,
    header::{CONTENT_DISPOSITION, CONTENT_TYPE, RETRY_AFTER},
};

use crate::error::ApiError;

/// Tells OpenAI's SDKs if a retry can help, whatever the status.
const X_SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
/// Parameters that clients of other services send with every request. They have no effect.
const HINTS: &[&str] = &["api-version"];
/// The most bytes of an error.
const MAX_ERROR_BYTES: usize = 1 << 20;

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = json(self.status, &self.body());
        let headers = response.headers_mut();
        if let Some(retry) = self.retry {
            let retry = if retry { "true" } else { "false" };
            headers.insert(X_SHOULD_RETRY, HeaderValue::from_static(retry));
        }
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<BytesRejection> for ApiError {
    fn from(_: BytesRejection) -> Self {
        Self { status: 413, ..Self::invalid("", "request_too_large", "The body is larger than 4 MiB.") }
    }
}

/// Returns a document for download, which browsers don't render.
#[must_use]
pub fn attachment(body: Bytes) -> Response {
    let mut response = bytes(200, body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    response
}

/// Translates errors of the service that a route didn't, such as a caller without an org.
pub async fn translate_errors(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    if !response.status().is_client_error() && !response.status().is_server_error() {
        return response;
    }
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, MAX_ERROR_BYTES).await.unwrap_or_default();
    match from_envelope::<ApiError>(&body) {
        Some(error) => error.into_response(),
        None => {
            let mut response = bytes(parts.status.as_u16(), body);
            response.headers_mut().extend(parts.headers);
            response
        }
    }
}

/// The parameters of a query.
#[derive(Debug)]
pub struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Reads a query with these parameters.
    ///
    /// # Errors
    /// If it has another one.
    pub fn read(uri: &Uri, known: &[&str]) -> Result<Self, ApiError> {
        let pairs: Vec<(String, String)> =
            Query::try_from_uri(uri).map(|Query(pairs)| pairs).unwrap_or_default();
        let is_known = |name: &str| known.contains(&name.trim_end_matches("[]")) || HINTS.contains(&name);
        let unknown = pairs.iter().find(|(name, _)| !is_known(name));
        match unknown {
            Some((name, _)) => {
                let message = format!("Unknown parameter: '{name}'.");
                Err(ApiError::invalid(name, "unknown_parameter", message))
            }
            None => Ok(Self(pairs)),
        }
    }

    /// Returns a parameter.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// True if a parameter has this value, as one of several.
    #[must_use]
    pub fn has(&self, name: &str, value: &str) -> bool {
        self.0.iter().any(|(other, given)| other.trim_end_matches("[]") == name && given == value)
    }

    /// Returns a flag.
    ///
    /// # Errors
    /// If it is neither `true` nor `false`.
    pub fn flag(&self, name: &str) -> Result<bool, ApiError> {
        match self.text(name) {
            None | Some("" | "false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(ApiError::value(name, "must be true or false")),
        }
    }

    /// Reads `order`, which is `desc` unless given.
    ///
    /// # Errors
    /// If it is neither `asc` nor `desc`.
    pub fn newest_first(&self) -> Result<bool, ApiError> {
        match self.text("order") {
            None | Some("" | "desc") => Ok(true),
            Some("asc") => Ok(false),
            Some(_) => Err(ApiError::value("order", "must be asc or desc")),
        }
    }

    /// Returns a number.
    ///
    /// # Errors
    /// If it is no whole number.
    pub fn number(&self, name: &str) -> Result<Option<u64>, ApiError> {
        let parse = |text: &str| text.parse().map_err(|_| ApiError::value(name, "must be a whole number"));
        self.text(name).map(parse).transpose()
    }
}
