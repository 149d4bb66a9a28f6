//! Errors and queries over HTTP.

use axum::{
    body::{Body, to_bytes},
    extract::{Query, Request, rejection::BytesRejection},
    middleware::Next,
    response::{IntoResponse, Response},
};
pub use fronts::json;
use fronts::{MemberError, from_envelope};
use http::{
    HeaderMap, HeaderName, HeaderValue, Uri,
    header::{CONTENT_LENGTH, RETRY_AFTER},
};
use runtime::{api::request_id, dialect::Dialect};
use serde_json::Value;

use crate::{error::ApiError, files, models};

/// The path of the models, which OpenAI's API has too.
const MODELS: &str = "/v1/models";
/// The path of the files, which OpenAI's API has too.
const FILES: &str = "/v1/files";
/// The end of the path of a file's content, which has no form.
const CONTENT: &str = "/content";
/// Tells the SDKs if a retry can help, whatever the status.
const X_SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
/// The header in which the SDKs count the retries of a request.
const RETRY_COUNT: HeaderName = HeaderName::from_static("x-stainless-retry-count");
/// The header in which the SDKs look for the id of a request.
const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
/// The headers in which Claude Code names its session, and an agent of it.
const CLAUDE_CODE_SESSION: HeaderName = HeaderName::from_static("x-claude-code-session-id");
const CLAUDE_CODE_AGENT: HeaderName = HeaderName::from_static("x-claude-code-agent-id");
/// The longest name in such a header.
const MAX_NAME_BYTES: usize = 256;
/// The most bytes of a response that is translated.
const MAX_BYTES: usize = 1 << 20;

/// True if the SDK repeats a request.
///
/// # Errors
/// If the count of retries isn't a number: taken for absent, it would make a retry a new request.
pub fn is_retry(headers: &HeaderMap) -> Result<bool, ApiError> {
    let Some(count) = headers.get(RETRY_COUNT) else { return Ok(false) };
    let count = count.to_str().ok().and_then(|count| count.parse::<u32>().ok());
    count
        .map(|count| count > 0)
        .ok_or_else(|| ApiError::member(RETRY_COUNT.as_str(), "Input should be a number"))
}

/// Returns the name that Claude Code gives a chat: its session, and its agent there. A request without tools, such as that
/// for a title, has it too and is no part of the chat.
#[must_use]
pub fn chat_name(headers: &HeaderMap) -> Option<String> {
    let text =
        |name: &HeaderName| headers.get(name)?.to_str().ok().filter(|text| text.len() <= MAX_NAME_BYTES);
    let session = text(&CLAUDE_CODE_SESSION).filter(|text| !text.is_empty())?;
    Some(format!("claude-code/{session}/{}", text(&CLAUDE_CODE_AGENT).unwrap_or_default()))
}

/// Checks the query of a request. `beta` selects nothing here, and `known` are the operation's own parameters.
///
/// # Errors
/// If it has another parameter.
pub fn check_query(uri: &Uri, known: &[&str]) -> Result<(), ApiError> {
    let pairs: Vec<(String, String)> = Query::try_from_uri(uri).map(|Query(pairs)| pairs).unwrap_or_default();
    let is_known = |name: &str| name == "beta" || known.contains(&name.trim_end_matches("[]"));
    match pairs.iter().find(|(name, _)| !is_known(name)) {
        Some((name, _)) => Err(ApiError::not_permitted(name)),
        None => Ok(()),
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = json(self.status, &self.body());
        let headers = response.headers_mut();
        if let Some(retry) = self.retry {
            headers.insert(X_SHOULD_RETRY, HeaderValue::from_static(if retry { "true" } else { "false" }));
        }
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<BytesRejection> for ApiError {
    fn from(_: BytesRejection) -> Self {
        Self { status: 413, ..Self::invalid("Request exceeds the maximum size of 4 MiB") }
    }
}

/// Translates errors of the service that a route didn't, such as a caller without an org.
pub async fn translate_errors(request: Request, next: Next) -> Response {
    let id = request_id(&request);
    let mut response = translated(next.run(request).await, id.clone()).await;
    if let Some(id) = id.and_then(|id| HeaderValue::try_from(id).ok()) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

async fn translated(response: Response, id: Option<String>) -> Response {
    if !response.status().is_client_error() && !response.status().is_server_error() {
        return response;
    }
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, MAX_BYTES).await.unwrap_or_default();
    if let Some(error) = from_envelope::<ApiError>(&body) {
        let headers = error.clone().into_response().headers().clone();
        return with_id(error.status, error.body(), headers, id);
    }
    match serde_json::from_slice(&body) {
        Ok(error) => with_id(parts.status.as_u16(), error, parts.headers, id),
        Err(_) => Response::from_parts(parts, Body::from(body)),
    }
}

/// Returns an error with the id of its request.
fn with_id(status: u16, mut error: Value, headers: HeaderMap, id: Option<String>) -> Response {
    if let Some(member) = error.get_mut("request_id") {
        *member = id.into();
    }
    let mut response = json(status, &error);
    for (name, value) in headers {
        if let Some(name) = name.filter(|name| *name != CONTENT_LENGTH) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// Answers in this API's shape on the paths of OpenAI's API, for clients of this one: the models, and every error.
pub async fn reshape(mut request: Request, next: Next) -> Response {
    if Dialect::of(request.uri().path(), request.headers()) != Dialect::Anthropic {
        return next.run(request).await;
    }
    let id = request_id(&request);
    let path = request.uri().path().to_owned();
    let known: &[&str] = match path.as_str() {
        MODELS => &["limit", "after_id", "before_id", "lifecycle"],
        FILES => &["limit", "page"],
        _ => &[],
    };
    if path.starts_with(MODELS) || path.starts_with(FILES) {
        if let Err(error) = check_query(request.uri(), known) {
            return error.into_response();
        }
        *request.uri_mut() = openai_uri(request.uri());
    }
    let response = next.run(request).await;
    let is_error = response.status().is_client_error() || response.status().is_server_error();
    let is_file = path.starts_with(FILES) && !path.ends_with(CONTENT);
    if !is_error && !path.starts_with(MODELS) && !is_file {
        return response;
    }
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, MAX_BYTES).await.unwrap_or_default();
    let read: Value = serde_json::from_slice(&body).unwrap_or_default();
    if is_error {
        let error = from_envelope(&body).unwrap_or_else(|| ApiError::from_openai(parts.status, &read));
        return with_id(error.status, error.body(), parts.headers, id);
    }
    let object = if is_file { files::from_openai(&read) } else { models::from_openai(&read) };
    with_id(parts.status.as_u16(), object, parts.headers, None)
}

/// Returns the address of models or files in OpenAI's API. Models have one page.
fn openai_uri(uri: &Uri) -> Uri {
    let pairs = uri.query().unwrap_or_default().split('&').filter(|_| uri.path() == FILES);
    let pairs = pairs.filter_map(|pair| match pair.split_once('=')? {
        ("page", id) => Some(format!("after={id}")),
        ("limit", _) => Some(pair.to_owned()),
        _ => None,
    });
    let query = pairs.collect::<Vec<_>>().join("&");
    let question = if query.is_empty() { "" } else { "?" };
    Uri::try_from(format!("{}{question}{query}", uri.path())).unwrap_or_else(|_| uri.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter();
        pairs.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn count_of_retries_is_read_or_refused() {
        assert_eq!(is_retry(&headers(&[])), Ok(false));
        assert_eq!(is_retry(&headers(&[("x-stainless-retry-count", "0")])), Ok(false));
        assert_eq!(is_retry(&headers(&[("x-stainless-retry-count", "2")])), Ok(true));
        assert!(is_retry(&headers(&[("x-stainless-retry-count", "two")])).is_err());
    }

    #[test]
    fn beta_is_accepted_in_the_query() {
        assert_eq!(check_query(&Uri::from_static("/v1/messages?beta=true"), &[]), Ok(()));
        assert_eq!(check_query(&Uri::from_static("/v1/models?limit=5"), &["limit"]), Ok(()));
        let error = check_query(&Uri::from_static("/v1/messages?alpha=true"), &[]).unwrap_err();
        assert_eq!(error.message, "alpha: Extra inputs are not permitted");
    }
}
