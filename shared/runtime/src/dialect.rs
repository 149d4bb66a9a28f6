//! The API whose clients sent a request, which decides the shape of an error.

use http::HeaderMap;
use serde_json::{Value, json};

/// The header that every client of Anthropic's API sends.
pub const ANTHROPIC_VERSION: &str = "anthropic-version";

/// An API whose clients can read only errors in its own shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// The Aptix API: the envelope.
    Aptix,
    /// OpenAI's APIs: `{"error": {"message", "type", "param", "code"}}`.
    OpenAi,
    /// Anthropic's API: `{"type": "error", "error": {"type", "message"}, "request_id"}`.
    Anthropic,
    /// AG-UI and CopilotKit's runtime: `{"error", "message"}`.
    AgUi,
    /// The Model Context Protocol: an error of JSON-RPC.
    Mcp,
}

impl Dialect {
    /// Returns the dialect of a request. OpenAI and Anthropic share the paths of models and files, which a header tells
    /// apart.
    #[must_use]
    pub fn of(path: &str, headers: &HeaderMap) -> Self {
        let is_under =
            |root: &str| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        match is_under("/v1") {
            false => Self::Aptix,
            true if is_under("/v1/ag-ui") => Self::AgUi,
            true if is_under("/v1/mcp") => Self::Mcp,
            true if is_under("/v1/messages") || headers.contains_key(ANTHROPIC_VERSION) => Self::Anthropic,
            true => Self::OpenAi,
        }
    }
}

/// Returns an error in Anthropic's shape, with the type that belongs to its status.
#[must_use]
pub fn anthropic_error(status: u16, message: &str, request_id: Option<&str>) -> Value {
    json!({
        "type": "error",
        "error": {"type": anthropic_type(status), "message": message},
        "request_id": request_id,
    })
}

/// Returns the type of an error of Anthropic's API with this status.
#[must_use]
pub fn anthropic_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        409 => "conflict_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        503 | 529 => "overloaded_error",
        504 => "timeout_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn path_and_header_decide_the_dialect() {
        let (plain, mut versioned) = (HeaderMap::new(), HeaderMap::new());
        versioned.insert(ANTHROPIC_VERSION, HeaderValue::from_static("2023-06-01"));
        for (path, headers, expected) in [
            ("/api/ai/agent/sessions", &plain, Dialect::Aptix),
            ("/api/ai/agent/sessions", &versioned, Dialect::Aptix),
            ("/v1x/models", &plain, Dialect::Aptix),
            ("/v1/models", &plain, Dialect::OpenAi),
            ("/v1/models", &versioned, Dialect::Anthropic),
            ("/v1/messages", &plain, Dialect::Anthropic),
            ("/v1/messages/count_tokens", &plain, Dialect::Anthropic),
            ("/v1/messagesx", &plain, Dialect::OpenAi),
            ("/v1/ag-ui", &plain, Dialect::AgUi),
            ("/v1/ag-ui/info", &versioned, Dialect::AgUi),
            ("/v1/mcp", &plain, Dialect::Mcp),
            ("/v1/mcpx", &plain, Dialect::OpenAi),
        ] {
            assert_eq!(Dialect::of(path, headers), expected, "{path}");
        }
        let error = anthropic_error(413, "Too large.", Some("r1"));
        assert_eq!((&error["type"], &error["error"]["type"]), (&json!("error"), &json!("request_too_large")));
        assert_eq!(error["request_id"], "r1");
    }
}
