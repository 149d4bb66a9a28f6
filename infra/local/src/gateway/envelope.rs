//! Responses of the gateway itself, in the envelope of every response body, or in the shape of another API's errors.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use contracts::request::limits::TOO_LARGE_FOR_GATEWAY;
use contracts::{Error, ErrorCode, InvokeResult};
use mcp_api::error::RpcError;
use openai_api::error::ApiError;
use runtime::dialect::{Dialect, anthropic_error};
use serde_json::json;

use crate::lambda::InvokeError;
use crate::token::Rejection;

/// Request headers that a browser may send, as in `template.yaml`. The wildcard doesn't include `authorization`.
const ALLOWED_HEADERS: &str = "*,Authorization";
/// Response headers that a browser may read.
const EXPOSED_HEADERS: &str = "retry-after,x-amzn-requestid,x-correlation-id";

/// A request that the gateway answers itself instead of passing it to a function.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// There is no valid token.
    Unauthenticated(Rejection),
    /// The authorizer denied the request.
    Forbidden,
    /// The authorizer failed.
    AuthorizerFailed,
    /// No resource has this path.
    NotFound,
    /// The resource does not support this method, only these.
    MethodNotAllowed(Vec<&'static str>),
    /// The body did not arrive completely.
    Incomplete,
    /// The body, or the event with it, is too large.
    PayloadTooLarge,
    /// Every process of the function is busy.
    TooManyRequests,
    /// The function crashed or returned an invalid reply.
    FunctionFailed,
    /// The function took too long.
    TimedOut,
    /// The data folder's disk is full, with a message about it.
    DiskFull(String),
}

impl From<InvokeError> for Refusal {
    fn from(error: InvokeError) -> Self {
        match error {
            InvokeError::Throttled => Self::TooManyRequests,
            InvokeError::Closed
            | InvokeError::NotStarted(_)
            | InvokeError::Crashed
            | InvokeError::Function(_) => Self::FunctionFailed,
            InvokeError::TimedOut => Self::TimedOut,
        }
    }
}

impl Refusal {
    fn error(&self) -> Error {
        match self {
            Self::Unauthenticated(why) => Error::new(ErrorCode::Unauthenticated, why.to_string()),
            Self::Forbidden => Error::new(ErrorCode::Forbidden, "The token does not allow this request."),
            Self::AuthorizerFailed => ErrorCode::Internal.into(),
            Self::NotFound => ErrorCode::RouteNotFound.into(),
            Self::MethodNotAllowed(methods) => {
                let message = format!("This path accepts {}.", methods.join(", "));
                Error::new(ErrorCode::MethodNotAllowed, message)
            }
            Self::Incomplete => Error::new(ErrorCode::BodyMissing, "The request body is incomplete."),
            Self::PayloadTooLarge => Error::new(ErrorCode::PayloadTooLarge, TOO_LARGE_FOR_GATEWAY),
            Self::TooManyRequests => {
                Error::new(ErrorCode::TooManyRequests, "Too many requests at a time: try again in a second.")
                    .with_retry_after(Duration::from_secs(1))
            }
            Self::FunctionFailed => ErrorCode::FunctionFailed.into(),
            Self::TimedOut => ErrorCode::FunctionTimedOut.into(),
            Self::DiskFull(message) => Error::new(ErrorCode::StorageUnavailable, message.clone())
                .with_retry_after(Duration::from_secs(5)),
        }
    }
}

/// Returns the response for a refusal.
pub(crate) fn refusal_response(refusal: Refusal, dialect: Dialect, request_id: &str) -> Response<Body> {
    let error = ApiError::from(refusal.error());
    let result = InvokeResult::<()>::err(refusal.error());
    let wait = result.outcome().err().and_then(|errors| errors.first()?.retry_after_seconds);
    let status = StatusCode::from_u16(result.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = match dialect {
        Dialect::Aptix => serde_json::to_vec(&result).unwrap_or_default(),
        Dialect::OpenAi => error.body().to_string().into_bytes(),
        Dialect::AgUi => {
            let Error { error_code, message, .. } = refusal.error();
            json!({"error": error_code.as_str(), "message": message}).to_string().into_bytes()
        }
        Dialect::Mcp => RpcError::of_gateway(refusal.error()).body().to_string().into_bytes(),
        Dialect::Anthropic => {
            anthropic_error(error.status, &error.message, Some(request_id)).to_string().into_bytes()
        }
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_HEADERS));
    if let Some(seconds) = wait {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    match refusal {
        Refusal::Unauthenticated(_) => {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        Refusal::MethodNotAllowed(methods) => allow(headers, header::ALLOW, &methods),
        Refusal::Forbidden
        | Refusal::AuthorizerFailed
        | Refusal::NotFound
        | Refusal::Incomplete
        | Refusal::PayloadTooLarge
        | Refusal::TooManyRequests
        | Refusal::FunctionFailed
        | Refusal::TimedOut
        | Refusal::DiskFull(_) => {}
    }
    response
}

/// Returns the response to a CORS preflight request.
pub(crate) fn preflight(methods: &[&'static str]) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(ALLOWED_HEADERS));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    allow(headers, header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    response
}

fn allow(headers: &mut HeaderMap, name: HeaderName, methods: &[&'static str]) {
    let methods = format!("{},OPTIONS", methods.join(","));
    if let Ok(methods) = HeaderValue::from_str(&methods) {
        headers.insert(name, methods);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throttled_client_gets_retry_after() {
        let response = refusal_response(InvokeError::Throttled.into(), Dialect::Aptix, "r");
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(response.headers()["retry-after"], "1");
        assert_eq!(response.headers()["access-control-allow-origin"], "*");
    }

    #[tokio::test]
    async fn gateway_error_has_envelope() {
        let response = refusal_response(Refusal::Unauthenticated(Rejection::Missing), Dialect::Aptix, "r");
        let body = axum::body::to_bytes(response.into_body(), 4096).await.unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["Successful"], false);
        assert!(body["Result"].is_null());
        assert_eq!(body["Errors"][0]["ErrorCode"], "Unauthenticated");
        assert_eq!(body["Errors"][0]["SystemError"], false);
        assert_eq!(body["Warnings"], serde_json::json!([]));
    }
}
