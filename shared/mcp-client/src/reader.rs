//! Messages in the body of a response, within a bound.

use std::{pin::Pin, time::Duration};

use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use reqwest::{Response, header::CONTENT_TYPE};
use sse_stream::SseByteStream;

use crate::message::{self, Message};

/// The largest response, in bytes, with everything that its stream resumes.
pub(crate) const MAX_RESPONSE: usize = 4 * 1024 * 1024;

/// A response that isn't whole and valid.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The response is larger than 4 MiB.
    #[error("the response has more than 4 MiB")]
    TooLarge,
    /// The response ended before its end.
    #[error("the response was cut off")]
    Cut(#[source] Option<reqwest::Error>),
    /// The response breaks the protocol.
    #[error("{0}")]
    Invalid(&'static str),
}

type Chunks = Pin<Box<dyn Stream<Item = Result<Bytes, ReadError>> + Send>>;

/// A reader of the messages of a response.
pub(crate) struct Reader {
    body: Body,
    /// The id of the last event, from which a stream can be resumed.
    pub(crate) last_event: Option<String>,
    /// The time that the server asks to wait before that.
    pub(crate) retry: Option<Duration>,
}

enum Body {
    Json(Option<Chunks>),
    Events(SseByteStream<Chunks>),
    /// A media type without messages.
    Other,
}

impl Reader {
    /// Creates a reader. `left` is the number of bytes that may follow.
    pub(crate) fn new(response: Response, left: &mut Budget) -> Self {
        let media_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let essence = media_type.and_then(|value| value.split(';').next()).unwrap_or_default().trim();
        let body = if essence.eq_ignore_ascii_case("text/event-stream") {
            Body::Events(SseByteStream::new(left.limit(response)))
        } else if essence.eq_ignore_ascii_case("application/json") {
            Body::Json(Some(left.limit(response)))
        } else {
            Body::Other
        };
        Self { body, last_event: None, retry: None }
    }

    /// Returns the next message, or nothing at the end of the response.
    pub(crate) async fn next(&mut self) -> Result<Option<Message>, ReadError> {
        match &mut self.body {
            Body::Other => Err(ReadError::Invalid("the response is neither JSON nor a stream of events")),
            Body::Json(chunks) => {
                let Some(mut chunks) = chunks.take() else { return Ok(None) };
                let mut text = Vec::new();
                while let Some(chunk) = chunks.next().await {
                    text.extend_from_slice(&chunk?);
                }
                parse(&text).map(Some)
            }
            Body::Events(events) => loop {
                let event = match events.next().await {
                    None => return Ok(None),
                    Some(Ok(event)) => event,
                    Some(Err(sse_stream::Error::Body(error))) => {
                        return Err(error.downcast().map_or(ReadError::Cut(None), |error| *error));
                    }
                    Some(Err(_)) => return Err(ReadError::Invalid("the response isn't a stream of events")),
                };
                self.last_event = event.id.filter(|id| !id.is_empty()).or(self.last_event.take());
                self.retry = event.retry.map(Duration::from_millis).or(self.retry);
                let is_message = event.event.is_none_or(|name| name == "message");
                if let Some(data) = event.data.filter(|data| is_message && !data.is_empty()) {
                    return parse(data.as_bytes()).map(Some);
                }
            },
        }
    }
}

fn parse(text: &[u8]) -> Result<Message, ReadError> {
    let value = serde_json::from_slice(text).map_err(|_| ReadError::Invalid("the response isn't JSON"))?;
    message::parse(value).ok_or(ReadError::Invalid("the response isn't a message of JSON-RPC"))
}

/// The number of bytes that a call may still receive, over all of its responses.
pub(crate) struct Budget(std::sync::Arc<std::sync::atomic::AtomicUsize>);

impl Budget {
    pub(crate) fn new(bytes: usize) -> Self {
        Self(std::sync::Arc::new(bytes.into()))
    }

    /// Returns the body of a response, which fails once it exceeds the budget.
    fn limit(&mut self, response: Response) -> Chunks {
        use std::sync::atomic::Ordering::Relaxed;
        let left = self.0.clone();
        Box::pin(response.bytes_stream().map(move |chunk| {
            let chunk = chunk.map_err(|error| ReadError::Cut(Some(error.without_url())))?;
            left.try_update(Relaxed, Relaxed, |left| left.checked_sub(chunk.len()))
                .map_err(|_| ReadError::TooLarge)?;
            Ok(chunk)
        }))
    }
}
