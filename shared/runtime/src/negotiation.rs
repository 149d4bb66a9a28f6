//! Plain-text responses for simple clients: the answer's text alone, and errors on one line.

use std::convert::Infallible;

use axum::{
    body::{Body, BodyDataStream, Bytes},
    extract::{MatchedPath, Request},
    middleware::Next,
    response::Response,
};
use contracts::{AgentExecuteResponse, InvokeResult, encoding::text_response::plain_text, json_bytes, paths};
use futures::{StreamExt, stream};
use http::{
    HeaderValue,
    header::{ACCEPT, CONTENT_TYPE},
};

/// The size limit that Lambda sets for a buffered response.
const MAX_ANSWER_BYTES: usize = 6 * 1024 * 1024;

/// Converts the `InvokeResult` of a turn into plain text if the client prefers that. Applies only to the routes that
/// run turns. An event stream stays an event stream, because the request asks for it explicitly.
pub async fn negotiate_plain_text(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let answers = matches!(path, Some(paths::EXECUTE | paths::TOOL_RESULTS));
    let wants = answers && wants_text(request.headers().get(ACCEPT));
    let response = next.run(request).await;
    let is_json = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    if wants && is_json { as_text(response) } else { response }
}

/// True if the client lists plain text, and lists it before JSON and event streams.
fn wants_text(accept: Option<&HeaderValue>) -> bool {
    let accept = accept.and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let mut types = accept.split(',').map(|entry| entry.split(';').next().unwrap_or_default().trim());
    types.find(|entry| matches!(*entry, "text/plain" | "application/json" | "text/event-stream"))
        == Some("text/plain")
}

fn as_text(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    let conversion = TextConversion { body: body.into_data_stream(), buffer: Vec::new() };
    let text = stream::unfold(Some(conversion), |conversion| async { conversion?.next().await });
    Response::from_parts(parts, Body::from_stream(text))
}

struct TextConversion {
    body: BodyDataStream,
    buffer: Vec<u8>,
}

impl TextConversion {
    /// Passes leading whitespace on at once, since it keeps the connection alive. Then returns the text.
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Option<Self>)> {
        while let Some(Ok(piece)) = self.body.next().await {
            if self.buffer.is_empty() && piece.trim_ascii().is_empty() {
                return Some((Ok(piece), Some(self)));
            }
            if self.buffer.len() + piece.len() > MAX_ANSWER_BYTES {
                break;
            }
            self.buffer.extend_from_slice(&piece);
        }
        let result = json_bytes::from_slice::<InvokeResult<AgentExecuteResponse>>(&self.buffer);
        Some((Ok(result.map_or(self.buffer.into(), |result| plain_text(&result).into())), None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_sent_to_clients_that_prefer_it() {
        let wants = |accept: &'static str| wants_text(Some(&HeaderValue::from_static(accept)));
        assert!(wants("text/plain") && wants("text/plain;q=1, */*"));
        assert!(!wants("*/*") && !wants("application/json, text/plain") && !wants_text(None));
    }
    #[tokio::test]
    async fn whitespace_is_forwarded_before_the_response() {
        let (send, receive) = futures::channel::mpsc::unbounded::<Bytes>();
        let json = Body::from_stream(receive.map(Ok::<_, Infallible>));
        let mut text = as_text(Response::new(json)).into_body().into_data_stream();
        send.unbounded_send("\n".into()).unwrap();
        assert_eq!(text.next().await.unwrap().unwrap(), "\n");
        let failed = InvokeResult::<()>::err(contracts::ErrorCode::ModelTimedOut.into());
        let (head, tail) = (serde_json::to_vec(&failed).unwrap(), "\n");
        send.unbounded_send(head.into()).unwrap();
        send.unbounded_send(tail.into()).unwrap();
        drop(send);
        let line = text.next().await.unwrap().unwrap();
        assert!(line.starts_with(b"ModelTimedOut: "), "{line:?}");
        assert!(text.next().await.is_none());
    }
}
