//! Error responses, in the layout of the published API or of another provider.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// A request that is answered with an HTTP error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{status}: {message}")]
pub struct Refusal {
    pub status: u16,
    pub kind: Box<str>,
    pub code: Option<Box<str>>,
    pub param: Option<Box<str>>,
    pub message: String,
    pub headers: Vec<(String, String)>,
    /// The provider's own layout if none.
    pub layout: Option<Layout>,
    /// True if the request is invalid for every provider, or unreadable.
    pub invalid_request: bool,
}

/// Layout of an error body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `{"error": {"message", "type", "param", "code"}}`, the published one.
    Nested,
    /// `{"error": {"message", "type", "code"}}`, the code being the status.
    Numbered,
    /// `{"error": {"code", "message"}, "metadata"}`.
    Coded,
    /// `{"object": "error", "message", "type", "param", "code"}`, the code being the status.
    Flat,
    /// `{"error": "…"}`.
    Text,
    /// `{"type": "error", "error": {"type", "message"}, "request_id"}`, of Anthropic's API.
    Typed,
    /// `{"message"}`, of AWS's APIs. A header has the type.
    Aws,
}

impl Refusal {
    /// Creates a 400 about one parameter.
    pub fn invalid(code: &str, param: &str, message: impl Into<String>) -> Self {
        Self {
            status: 400,
            kind: "invalid_request_error".into(),
            code: Some(code.into()),
            param: Some(param.into()),
            message: message.into(),
            headers: Vec::new(),
            layout: None,
            invalid_request: false,
        }
    }

    /// Creates a 503.
    pub fn unavailable() -> Self {
        let refusal = Self::invalid("server_error", "", "The server is overloaded.");
        Self { status: 503, kind: "server_error".into(), param: None, ..refusal }
    }

    /// Sets the layout, unless it has one.
    pub fn with_layout(self, layout: Layout) -> Self {
        Self { layout: self.layout.or(Some(layout)), ..self }
    }

    /// Marks the request as invalid for every provider.
    pub fn into_invalid_request(self) -> Self {
        Self { invalid_request: true, ..self }
    }

    fn body(&self) -> Value {
        let Self { status, kind, code, param, message, .. } = self;
        let code = || code.clone().map_or_else(|| json!(status), |code| json!(code));
        match self.layout.unwrap_or(Layout::Nested) {
            Layout::Nested => json!({ "error": {
                "message": message, "type": kind, "param": param, "code": self.code,
            }}),
            Layout::Numbered => json!({ "error": { "code": status, "message": message, "type": kind } }),
            Layout::Coded => json!({ "error": { "code": code(), "message": message }, "metadata": null }),
            Layout::Flat => json!({
                "object": "error", "message": message, "type": kind, "param": param, "code": status,
            }),
            Layout::Text => json!({ "error": message }),
            Layout::Typed => json!({
                "type": "error", "error": { "type": self.typed_kind(), "message": message },
                "request_id": "req_mock",
            }),
            Layout::Aws => json!({ "message": message }),
        }
    }

    /// Returns the error type of Anthropic's API: that of the refusal, unless it is another API's.
    fn typed_kind(&self) -> &str {
        match (&*self.kind, self.status) {
            ("server_error", 503 | 529) => "overloaded_error",
            ("server_error", _) => "api_error",
            ("invalid_request_error", 404) => "not_found_error",
            ("invalid_request_error", 413) => "request_too_large",
            (kind, _) => kind,
        }
    }

    /// Returns the name of the exception of AWS's APIs: the code, if it is one, or that of the status.
    fn exception(&self) -> &str {
        match (self.code.as_deref(), self.status) {
            (Some(code), _) if code.ends_with("Exception") => code,
            (_, 401 | 403) => "AccessDeniedException",
            (_, 404) => "ResourceNotFoundException",
            (_, 408) => "ModelTimeoutException",
            (_, 424) => "ModelErrorException",
            (_, 429) => "ThrottlingException",
            (_, 500) => "InternalServerException",
            (_, 503) => "ServiceUnavailableException",
            _ => "ValidationException",
        }
    }

    /// Returns the default error type of a status.
    pub fn kind_of(status: u16) -> &'static str {
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
        let body = self.body();
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_REQUEST);
        let mut response = (status, body.to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if self.layout == Some(Layout::Aws)
            && let Ok(name) = HeaderValue::try_from(self.exception())
        {
            headers.insert("x-amzn-errortype", name);
        }
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
