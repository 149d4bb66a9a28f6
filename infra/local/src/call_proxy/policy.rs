//! The policy of a proxy: the calls that it denies instead of forwarding them.

use std::fmt;

use axum::body::Bytes;
use axum::http::{StatusCode, request::Parts};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::call::Service;

/// A call that has not been forwarded yet.
#[derive(Debug, Clone, Copy)]
pub struct CallRequest<'a> {
    /// Name of the calling function.
    pub function: &'a str,
    /// The called service.
    pub service: Service,
    /// Operation, as the service names it; the method of a request to the bucket.
    pub operation: &'a str,
    /// Method, URL and headers of the request.
    pub parts: &'a Parts,
    /// Body of the request.
    pub body: &'a Bytes,
}

/// Decides which calls a proxy denies.
pub trait Policy: fmt::Debug + Send + Sync {
    /// Checks a call before it is forwarded.
    ///
    /// # Errors
    /// The reason to deny the call.
    fn check_request(&self, request: &CallRequest<'_>) -> Result<(), String>;

    /// Checks the status of the response to a call.
    ///
    /// # Errors
    /// The reason to deny the call.
    fn check_response(&self, request: &CallRequest<'_>, status: StatusCode) -> Result<(), String>;
}

/// Returns the response to a denied call, in the format of the service.
pub(super) fn denied(service: Service, reason: &str) -> Response {
    match service {
        Service::Bucket => {
            let body = format!("<Error><Code>AccessDenied</Code><Message>{reason}</Message></Error>");
            (StatusCode::FORBIDDEN, body).into_response()
        }
        Service::Table | Service::Queue => {
            let body = json!({"__type": "AccessDeniedException", "message": reason});
            (StatusCode::BAD_REQUEST, body.to_string()).into_response()
        }
    }
}
