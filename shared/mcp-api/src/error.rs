//! Errors of JSON-RPC, and their HTTP status.

use axum::{
    extract::rejection::BytesRejection,
    response::{IntoResponse, Response},
};
use contracts::{Error, ErrorCode};
use fronts::json;
use http::{HeaderValue, header::ALLOW};
use serde_json::{Value, json};

use crate::{
    era::{Era, VERSIONS},
    object::with,
};

/// The body isn't JSON.
const PARSE_ERROR: i64 = -32700;
/// The body isn't a request.
const INVALID_REQUEST: i64 = -32600;
/// The server doesn't have the method.
const METHOD_NOT_FOUND: i64 = -32601;
/// The parameters of the method are invalid.
const INVALID_PARAMS: i64 = -32602;
/// The service failed.
const INTERNAL_ERROR: i64 = -32603;
/// There is no such resource, up to revision 2025-11-25.
const RESOURCE_NOT_FOUND: i64 = -32002;
/// A header differs from the body, or is missing. Since revision 2026-07-28.
const HEADER_MISMATCH: i64 = -32020;
/// The server doesn't have the version. Since revision 2026-07-28.
const UNSUPPORTED_VERSION: i64 = -32022;

/// An error of a request.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    /// The HTTP status.
    status: u16,
    /// The id of the request, unless it couldn't be read.
    id: Option<Value>,
    code: i64,
    message: String,
    data: Option<Value>,
}

impl RpcError {
    fn new(status: u16, code: i64, message: impl Into<String>) -> Self {
        Self { status, id: None, code, message: message.into(), data: None }
    }

    /// Creates the error of a body that isn't JSON.
    #[must_use]
    pub fn not_json() -> Self {
        Self::new(400, PARSE_ERROR, "The body isn't JSON.")
    }

    /// Creates the error of a body that isn't a request, with this status.
    #[must_use]
    pub fn invalid_request(status: u16, message: impl Into<String>) -> Self {
        Self::new(status, INVALID_REQUEST, message)
    }

    /// Creates the error of a method that the server doesn't have. A client of the older era takes the status 404 for
    /// the end of its session.
    #[must_use]
    pub fn method_not_found(era: Era, method: &str) -> Self {
        let status = if era == Era::PerRequest { 404 } else { 200 };
        Self::new(status, METHOD_NOT_FOUND, format!("Unknown method: {method}"))
    }

    /// Creates the error of a parameter.
    #[must_use]
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(200, INVALID_PARAMS, message)
    }

    /// Creates the error of a request whose metadata is incomplete.
    #[must_use]
    pub fn invalid_meta(message: impl Into<String>) -> Self {
        Self::new(400, INVALID_PARAMS, message)
    }

    /// Creates the error of a header that differs from the body, or is missing.
    #[must_use]
    pub fn header_mismatch(message: impl Into<String>) -> Self {
        Self::new(400, HEADER_MISMATCH, message)
    }

    /// Creates the error of a version that the server doesn't have.
    #[must_use]
    pub fn unsupported_version(requested: &str) -> Self {
        let message = format!("Unsupported protocol version. Use one of {}.", VERSIONS.join(", "));
        let data = json!({"supported": VERSIONS, "requested": requested});
        Self { data: Some(data), ..Self::new(400, UNSUPPORTED_VERSION, message) }
    }

    /// Creates the error of a resource that the caller doesn't have.
    #[must_use]
    pub fn resource_not_found(era: Era, uri: &str) -> Self {
        let code = if era == Era::PerRequest { INVALID_PARAMS } else { RESOURCE_NOT_FOUND };
        let data = Some(json!({"uri": uri}));
        Self { data, ..Self::new(200, code, "Resource not found") }
    }

    /// Creates the error of a notification, which no body but a status can answer.
    #[must_use]
    pub fn of_notification(error: Error) -> Self {
        Self { status: error.error_code.http_status(), ..error.into() }
    }

    /// Creates the error of a request that didn't reach the server. Its id is unknown.
    #[must_use]
    pub fn of_gateway(error: Error) -> Self {
        let status = error.error_code.http_status();
        let code = if error.system_error() { INTERNAL_ERROR } else { INVALID_REQUEST };
        Self { status, code, ..error.into() }
    }

    /// Returns the error with the id of its request.
    #[must_use]
    pub fn with_id(self, id: &Value) -> Self {
        Self { id: Some(id.clone()), ..self }
    }

    /// Returns the error as the body of a response.
    #[must_use]
    pub fn body(&self) -> Value {
        let error = json!({"code": self.code, "message": self.message});
        let error = with(error, "data", self.data.clone());
        match &self.id {
            Some(id) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
            None => json!({"jsonrpc": "2.0", "error": error}),
        }
    }
}

impl From<Error> for RpcError {
    fn from(error: Error) -> Self {
        let code = if error.system_error() { INTERNAL_ERROR } else { INVALID_PARAMS };
        let data = json!({"code": error.error_code});
        let data = with(data, "retryAfterSeconds", error.retry_after_seconds);
        Self { data: Some(data), ..Self::new(200, code, error.message) }
    }
}

impl From<ErrorCode> for RpcError {
    fn from(code: ErrorCode) -> Self {
        Error::from(code).into()
    }
}

impl From<BytesRejection> for RpcError {
    fn from(_: BytesRejection) -> Self {
        Self::invalid_request(413, "The body is larger than 4 MiB.")
    }
}

impl IntoResponse for RpcError {
    fn into_response(self) -> Response {
        json(self.status, &self.body())
    }
}

/// Returns the response to a method other than POST: the server sends nothing of its own accord, and keeps no sessions
/// that a client could end.
pub async fn method_not_allowed() -> Response {
    let mut response = RpcError::invalid_request(405, "This path takes POST alone.").into_response();
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    response
}
