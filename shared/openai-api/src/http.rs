//! Responses over HTTP, errors included.

use std::convert::Infallible;

use axum::{
    body::{Body, to_bytes},
    extract::{Query, Request, rejection::BytesRejection},
    middleware::Next,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::{Stream, stream};
use http::{
    HeaderName, HeaderValue, StatusCode, Uri,
    header::{CONTENT_DISPOSITION, CONTENT_TYPE, RETRY_AFTER},
};
use runtime::stream::{KeepAlive, TextEvents};
use serde_json::Value;

use crate::error::ApiError;

/// Tells OpenAI's SDKs if a retry can help, whatever the status.
const X_SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
/// The most bytes of an error.
const MAX_ERROR_BYTES: usize = 1 << 20;

/// Returns a response with a JSON body.
#[must_use]
pub fn json(status: u16, body: &Value) -> Response {
    bytes(status, Bytes::from(body.to_string()))
}

fn bytes(status: u16, body: Bytes) -> Response {
    // Of unknown length, since the streaming runner must not send a Content-Length.
    let body = stream::iter([Ok::<_, Infallible>(body)]);
    let mut response = Response::new(Body::from_stream(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

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

/// Translates errors of the service that a route didn't.
pub async fn translate_errors(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    if !response.status().is_client_error() && !response.status().is_server_error() {
        return response;
    }
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, MAX_ERROR_BYTES).await.unwrap_or_default();
    match ApiError::from_envelope(&body) {
        Some(error) => error.into_response(),
        None => {
            let mut response = bytes(parts.status.as_u16(), body);
            response.headers_mut().extend(parts.headers);
            response
        }
    }
}

/// Returns a stream of formatted events.
pub(crate) fn events<S>(events: S, keep_alive: KeepAlive) -> Response
where
    S: Stream<Item = String> + Send + 'static,
{
    TextEvents::new(events, keep_alive).into_response()
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
        let unknown = pairs.iter().find(|(name, _)| !known.contains(&name.trim_end_matches("[]")));
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
