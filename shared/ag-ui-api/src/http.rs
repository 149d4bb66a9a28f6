//! Errors over HTTP.

use axum::{
    body::{Body, to_bytes},
    extract::{Request, rejection::BytesRejection},
    middleware::Next,
    response::{IntoResponse, Response},
};
use contracts::ErrorCode;
use fronts::from_envelope;
pub use fronts::json;
use http::{HeaderValue, header::RETRY_AFTER};

use crate::error::ApiError;

/// The most bytes of an error that is translated.
const MAX_BYTES: usize = 1 << 20;

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = json(self.code.http_status(), &self.body());
        if let Some(seconds) = self.retry_after_seconds {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<BytesRejection> for ApiError {
    fn from(_: BytesRejection) -> Self {
        Self::new(ErrorCode::PayloadTooLarge, "The body exceeds 4 MiB. Send fewer or smaller messages.")
    }
}

/// Translates errors of the service that a route didn't, such as a caller without an org.
pub async fn translate_errors(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    if !response.status().is_client_error() && !response.status().is_server_error() {
        return response;
    }
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, MAX_BYTES).await.unwrap_or_default();
    match from_envelope::<ApiError>(&body) {
        Some(error) => error.into_response(),
        None => Response::from_parts(parts, Body::from(body)),
    }
}

/// Returns the error of a path without a route.
pub async fn unknown(request: Request) -> ApiError {
    let message = format!("There is no route {} {}.", request.method(), request.uri().path());
    ApiError::new(ErrorCode::RouteNotFound, message)
}
