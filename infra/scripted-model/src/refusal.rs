//! Errors in the shape of the API: `{"error": {"message", "type", "param", "code"}}`.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// A request that is answered with an HTTP error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{status}: {message}")]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) kind: Box<str>,
    pub(crate) code: Option<Box<str>>,
    pub(crate) param: Option<Box<str>>,
    pub(crate) message: String,
    pub(crate) headers: Vec<(String, String)>,
}

impl Refusal {
    /// A 400 about one parameter.
    pub(crate) fn invalid(code: &str, param: &str, message: impl Into<String>) -> Self {
        Self {
            status: 400,
            kind: "invalid_request_error".into(),
            code: Some(code.into()),
            param: Some(param.into()),
            message: message.into(),
            headers: Vec::new(),
        }
    }

    /// The type that goes with a status when none was asked for.
    pub(crate) fn kind_of(status: u16) -> &'static str {
        match status {
            401 => "authentication_error",
            403 => "permission_error",
            429 => "rate_limit_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = json!({ "error": {
            "message": self.message, "type": self.kind, "param": self.param, "code": self.code,
        }});
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_REQUEST);
        let mut response = (status, body.to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in &self.headers {
            if let (Ok(name), Ok(value)) =
                (HeaderName::try_from(name.as_str()), HeaderValue::try_from(value.as_str()))
            {
                headers.append(name, value);
            }
        }
        response
    }
}
