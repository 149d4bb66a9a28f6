//! Converts a function's streamed reply to an HTTP response. A reply is a JSON prelude with status and headers, eight
//! NULs, then the body as it is produced.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use bytes::{Bytes, BytesMut};
use futures::Stream;
use serde::Deserialize;
use tokio::sync::mpsc;

use super::envelope::Refusal;
use crate::lambda::{Part, Reply};

/// Separator between the prelude and the body.
const SEPARATOR: [u8; 8] = [0; 8];
/// Longest prelude, in bytes.
const MAX_PRELUDE_BYTES: usize = 64 * 1024;

/// Prelude of a streamed reply.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Prelude {
    status_code: u16,
    #[serde(default)]
    headers: BTreeMap<String, Values>,
    #[serde(default)]
    cookies: Vec<String>,
}

/// One or more values of a header.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum Values {
    One(String),
    Many(Vec<String>),
}

/// Waits for the prelude and returns the response, whose body is streamed.
pub(crate) async fn from_reply(mut reply: Reply) -> Result<Response<Body>, Refusal> {
    // A streaming integration requires a prelude.
    if !reply.streaming {
        return Err(Refusal::FunctionFailed);
    }
    let mut received = BytesMut::new();
    loop {
        match reply.parts.recv().await {
            Some(Part::Data(data)) => received.extend_from_slice(&data),
            Some(Part::End) | None => return Err(Refusal::FunctionFailed),
        }
        if let Some((prelude, rest)) = split(&received) {
            let mut response = response_head(prelude).ok_or(Refusal::FunctionFailed)?;
            *response.body_mut() = Body::from_stream(body_stream(rest, reply.parts));
            return Ok(response);
        }
        if received.len() > MAX_PRELUDE_BYTES {
            return Err(Refusal::FunctionFailed);
        }
    }
}

/// Returns the prelude and the start of the body, once the separator has arrived.
fn split(received: &[u8]) -> Option<(&[u8], Bytes)> {
    let at = received.windows(SEPARATOR.len()).position(|window| window == SEPARATOR)?;
    let prelude = received.get(..at)?;
    let body = received.get(at + SEPARATOR.len()..)?;
    Some((prelude, Bytes::copy_from_slice(body)))
}

fn response_head(prelude: &[u8]) -> Option<Response<Body>> {
    let prelude: Prelude = serde_json::from_slice(prelude).ok()?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::from_u16(prelude.status_code).ok()?;
    let headers = response.headers_mut();
    for (name, values) in prelude.headers {
        let name = HeaderName::try_from(name).ok()?;
        // A stream's length is unknown in advance, and the server sets hop-by-hop headers.
        if matches!(name, header::CONTENT_LENGTH | header::TRANSFER_ENCODING | header::CONNECTION) {
            continue;
        }
        let values = match values {
            Values::One(value) => vec![value],
            Values::Many(values) => values,
        };
        for value in values {
            headers.append(name.clone(), HeaderValue::try_from(value).ok()?);
        }
    }
    for cookie in prelude.cookies {
        headers.append(header::SET_COOKIE, HeaderValue::try_from(cookie).ok()?);
    }
    Some(response)
}

/// Returns the body as a stream. A truncated reply ends in an error, so that the client's connection breaks instead
/// of ending as if the response were complete.
fn body_stream(
    first: Bytes,
    parts: mpsc::Receiver<Part>,
) -> impl Stream<Item = Result<Bytes, TruncatedReply>> {
    let first = Some(first).filter(|first| !first.is_empty());
    futures::stream::unfold(Some((first, parts)), |state| async {
        let (first, mut parts) = state?;
        if let Some(first) = first {
            return Some((Ok(first), Some((None, parts))));
        }
        match parts.recv().await {
            Some(Part::Data(data)) => Some((Ok(data), Some((None, parts)))),
            Some(Part::End) => None,
            None => Some((Err(TruncatedReply), None)),
        }
    })
}

/// The function's reply was truncated.
#[derive(Debug, thiserror::Error)]
#[error("the function's reply was truncated")]
struct TruncatedReply;

#[cfg(test)]
mod tests {
    use super::*;

    const PRELUDE: &str = r#"{"statusCode":201,"headers":{"content-type":"text/plain","x-two":["a","b"],"content-length":"9"},"cookies":["c=1"]}"#;

    /// Returns a reply that arrives in chunks of `size` bytes.
    fn reply(bytes: &[u8], size: usize, ends: bool) -> Reply {
        let chunks: Vec<_> = bytes.chunks(size).collect();
        let (sender, parts) = mpsc::channel(chunks.len() + 1);
        for chunk in chunks {
            sender.try_send(Part::Data(Bytes::copy_from_slice(chunk))).unwrap();
        }
        if ends {
            sender.try_send(Part::End).unwrap();
        }
        Reply { streaming: true, parts }
    }

    fn full_reply() -> Vec<u8> {
        [PRELUDE.as_bytes(), &SEPARATOR, b"hello\0\0"].concat()
    }

    #[tokio::test]
    async fn reply_is_same_for_any_chunking() {
        for size in [1, 3, 7, 1000] {
            let response = from_reply(reply(&full_reply(), size, true)).await.unwrap();
            assert_eq!(response.status(), 201);
            assert_eq!(response.headers()["content-type"], "text/plain");
            assert_eq!(response.headers().get_all("x-two").iter().count(), 2);
            assert_eq!(response.headers()["set-cookie"], "c=1");
            assert!(!response.headers().contains_key("content-length"));
            let body = axum::body::to_bytes(response.into_body(), 100).await.unwrap();
            assert_eq!(&body[..], b"hello\0\0");
        }
    }

    #[tokio::test]
    async fn truncated_reply_breaks_body() {
        let response = from_reply(reply(&full_reply(), 5, false)).await.unwrap();
        assert!(axum::body::to_bytes(response.into_body(), 100).await.is_err());
    }

    #[tokio::test]
    async fn reply_without_prelude_is_failure() {
        assert_eq!(from_reply(reply(b"hello", 5, true)).await.unwrap_err(), Refusal::FunctionFailed);
        let buffered = Reply { streaming: false, ..reply(&full_reply(), 5, true) };
        assert_eq!(from_reply(buffered).await.unwrap_err(), Refusal::FunctionFailed);
    }
}
