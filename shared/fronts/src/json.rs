//! JSON responses.

use std::convert::Infallible;

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures::stream;
use http::{HeaderValue, StatusCode, header::CONTENT_TYPE};
use serde_json::Value;

/// Returns a response with a JSON body.
#[must_use]
pub fn json(status: u16, body: &Value) -> Response {
    bytes(status, Bytes::from(body.to_string()))
}

/// Returns a response with the bytes of a JSON body.
#[must_use]
pub fn bytes(status: u16, body: Bytes) -> Response {
    // Of unknown length, since the streaming runner must not send a Content-Length.
    let body = stream::iter([Ok::<_, Infallible>(body)]);
    let mut response = Response::new(Body::from_stream(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
