//! Plain text for a thin CLI: the answer's text alone, errors on one line (DD-001).

use axum::{
    body::{Body, to_bytes},
    extract::Request,
    middleware::Next,
    response::Response,
};
use contracts::{AgentExecuteResponse, InvokeResult, shape::reply::plain_text};
use http::{
    HeaderValue,
    header::{ACCEPT, CONTENT_TYPE},
};

/// No answer is longer than Lambda lets a buffered one be.
const MAX_ANSWER_BYTES: usize = 6 * 1024 * 1024;

/// Turns the `InvokeResult` of a turn into plain text, for a client that asks for it.
pub async fn where_asked_for(request: Request, next: Next) -> Response {
    let asked = wants_text(request.headers().get(ACCEPT));
    let response = next.run(request).await;
    if asked { as_text(response).await } else { response }
}

/// Plain text is the client's first choice: named, and named before JSON.
fn wants_text(accept: Option<&HeaderValue>) -> bool {
    let accept = accept.and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let mut types = accept.split(',').map(|entry| entry.split(';').next().unwrap_or_default().trim());
    types.find(|entry| matches!(*entry, "text/plain" | "application/json" | "text/event-stream"))
        == Some("text/plain")
}

async fn as_text(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let bytes = to_bytes(body, MAX_ANSWER_BYTES).await.unwrap_or_default();
    let Ok(result) = serde_json::from_slice::<InvokeResult<AgentExecuteResponse>>(&bytes) else {
        return Response::from_parts(parts, Body::from(bytes));
    };
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    Response::from_parts(parts, crate::reply::streamed(plain_text(&result).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_sent_to_whoever_prefers_it() {
        let wants = |accept: &'static str| wants_text(Some(&HeaderValue::from_static(accept)));
        assert!(wants("text/plain") && wants("text/plain;q=1, */*"));
        assert!(!wants("*/*") && !wants("application/json, text/plain") && !wants_text(None));
    }
}
