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
    HeaderMap, HeaderValue,
    header::{ACCEPT, CONTENT_TYPE},
};

/// The size limit that Lambda sets for a buffered response.
const MAX_ANSWER_BYTES: usize = 6 * 1024 * 1024;

/// Converts the `InvokeResult` of a turn into plain text if the client prefers that. Applies only to the routes that
/// run turns. An event stream stays an event stream, because the request asks for it explicitly.
pub async fn negotiate_plain_text(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let answers = matches!(path, Some(paths::EXECUTE | paths::TOOL_RESULTS));
    let wants = answers && wants_text(request.headers());
    let response = next.run(request).await;
    let is_json = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    if wants && is_json { as_text(response) } else { response }
}

/// Returns the first of these media types that the client lists in `Accept`. Reads the header as bytes, so that a value
/// beside them that is no ASCII hides none.
#[must_use]
pub fn first_accepted<'a>(headers: &HeaderMap, types: &[&'a str]) -> Option<&'a str> {
    let values = headers.get_all(ACCEPT).iter();
    let mut entries = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    entries.find_map(|entry| {
        let listed = entry.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        types.iter().copied().find(|media_type| listed.eq_ignore_ascii_case(media_type.as_bytes()))
    })
}

/// True if the client lists plain text, and lists it before JSON and event streams.
fn wants_text(headers: &HeaderMap) -> bool {
    first_accepted(headers, &["text/plain", "application/json", "text/event-stream"]) == Some("text/plain")
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
        let wants = |accept: &[u8]| {
            wants_text(&HeaderMap::from_iter([(ACCEPT, HeaderValue::from_bytes(accept).unwrap())]))
        };
        assert!(wants(b"text/plain") && wants(b"Text/Plain;q=1, */*"));
        assert!(wants(b"x/\xff, text/plain") && wants("x/é, text/plain".as_bytes()));
        assert!(!wants(b"*/*") && !wants(b"application/json, text/plain") && !wants_text(&HeaderMap::new()));
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
