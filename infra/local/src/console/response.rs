//! Responses of the console's own API.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use contracts::{Error as WireError, ErrorCode, InvokeResult};
use serde::Serialize;

/// Responds with an error.
pub(super) fn error_response(code: ErrorCode, message: &str) -> Response {
    respond(&InvokeResult::<()>::err(WireError::new(code, message)))
}

/// Responds with an envelope, as the API does. No other origin may read it, and it is never cached.
pub(super) fn respond<T: Serialize>(result: &InvokeResult<T>) -> Response {
    let status = StatusCode::from_u16(result.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (status, headers, serde_json::to_vec(result).unwrap_or_default()).into_response()
}
