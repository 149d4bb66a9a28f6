//! Server-sent events: a turn's events as an HTTP response.
//!
//! Deliberately absent: the choice of events, and anything about turns.

use std::{convert::Infallible, pin::Pin, time::Duration};

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use contracts::stream::{Event, Kind, MEDIA_TYPE};
use futures::{FutureExt, Stream, StreamExt, stream};
use http::{
    HeaderName, HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE},
};
use tokio::time::timeout;

use settings::Env;

/// Asks the client to reconnect after one second if the stream ends without a `result`. Also the first bytes of every
/// stream, so that proxies forward the headers at once.
///
/// No blank line follows, here or below: some clients dispatch an event for every blank line.
const RETRY: &str = "retry: 1000\n";
/// The length from which a chunk takes no further event, in bytes.
const MAX_CHUNK_BYTES: usize = 16 * 1024;
/// A comment, which keeps the connection alive without being an event.
const HEARTBEAT: &str = ":\n";
/// Tells nginx and similar proxies not to buffer the response.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Keep-alive intervals: the longest times that a client waits for a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepAlive {
    /// The longest silence of an event stream.
    pub heartbeat: Duration,
    /// The time after which a response that isn't streamed starts to send whitespace.
    pub whitespace_after: Duration,
    /// The interval between whitespace bytes after that.
    pub whitespace_interval: Duration,
}

impl Default for KeepAlive {
    /// A regional REST API closes a connection that is silent for five minutes.
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_secs(15),
            whitespace_after: Duration::from_secs(240),
            whitespace_interval: Duration::from_secs(30),
        }
    }
}

impl KeepAlive {
    /// Reads the intervals from the settings, with the defaults above.
    pub fn read(env: &mut Env) -> Self {
        Self {
            heartbeat: env.read(&settings::STREAM_HEARTBEAT_SECONDS),
            whitespace_after: env.read(&settings::KEEP_ALIVE_AFTER_SECONDS),
            whitespace_interval: env.read(&settings::KEEP_ALIVE_INTERVAL_SECONDS),
        }
    }
}

/// A turn's events. The stream ends with a `result`, or tells the client to reconnect.
#[derive(Debug)]
pub struct EventStream<S> {
    events: S,
    keep_alive: KeepAlive,
}

impl<S: Stream<Item = Event> + Send + 'static> EventStream<S> {
    /// Creates a response with these events.
    pub fn new(events: S, keep_alive: KeepAlive) -> Self {
        Self { events, keep_alive }
    }
}

impl<S: Stream<Item = Event> + Send + 'static> IntoResponse for EventStream<S> {
    fn into_response(self) -> Response {
        let sse = SseBody {
            events: Box::pin(self.events),
            heartbeat: self.keep_alive.heartbeat,
            is_begun: false,
            is_finished: false,
        };
        event_stream(stream::unfold(sse, SseBody::next))
    }
}

/// Events of another protocol, each formatted as a server-sent event. The stream ends with them.
#[derive(Debug)]
pub struct TextEvents<S> {
    events: S,
    keep_alive: KeepAlive,
}

impl<S: Stream<Item = String> + Send + 'static> TextEvents<S> {
    /// Creates a response with these events.
    pub fn new(events: S, keep_alive: KeepAlive) -> Self {
        Self { events, keep_alive }
    }
}

impl<S: Stream<Item = String> + Send + 'static> IntoResponse for TextEvents<S> {
    fn into_response(self) -> Response {
        let heartbeat = self.keep_alive.heartbeat;
        let body = stream::unfold(Box::pin(self.events), move |mut events| async move {
            match timeout(heartbeat, events.next()).await {
                Err(_) => Some((Bytes::from_static(HEARTBEAT.as_bytes()), events)),
                Ok(event) => Some((event?.into(), events)),
            }
        });
        event_stream(body)
    }
}

/// Returns a response with the chunks of an event stream.
fn event_stream(chunks: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let mut response = Response::new(Body::from_stream(chunks.map(Ok::<_, Infallible>)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    response
}

/// A 204 response: the client already has the `result`. This status also stops an `EventSource` from reconnecting.
#[derive(Debug, Clone, Copy)]
pub struct NoContent;

impl IntoResponse for NoContent {
    fn into_response(self) -> Response {
        StatusCode::NO_CONTENT.into_response()
    }
}

struct SseBody<S> {
    events: Pin<Box<S>>,
    heartbeat: Duration,
    is_begun: bool,
    is_finished: bool,
}

impl<S: Stream<Item = Event>> SseBody<S> {
    /// Returns the next chunk: the first event that arrives, and all events that are ready with it. The first chunk waits
    /// for no event.
    async fn next(mut self) -> Option<(Bytes, Self)> {
        if self.is_finished {
            return None;
        }
        let mut chunk = Vec::new();
        if self.is_begun {
            match timeout(self.heartbeat, self.events.next()).await {
                Err(_) => return Some((Bytes::from_static(HEARTBEAT.as_bytes()), self)),
                Ok(event) => self.append(event, &mut chunk),
            }
        } else {
            self.is_begun = true;
            chunk.extend_from_slice(RETRY.as_bytes());
        }
        // A pause between deltas ends the chunk, since the next event isn't ready then.
        while !self.is_finished
            && chunk.len() < MAX_CHUNK_BYTES
            && let Some(event) = self.events.next().now_or_never()
        {
            self.append(event, &mut chunk);
        }
        Some((chunk.into(), self))
    }

    /// Appends an event, or the request to reconnect if the stream ended without a result.
    fn append(&mut self, event: Option<Event>, chunk: &mut Vec<u8>) {
        match event {
            Some(event) => {
                self.is_finished = matches!(event.kind, Kind::Result(_));
                event.write_sse(chunk);
            }
            None => {
                self.is_finished = true;
                chunk.extend_from_slice(RETRY.as_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use axum::body::to_bytes;
    use contracts::stream::{Delta, EventId, Reset};
    use serde_json::value::to_raw_value;

    use super::*;

    fn event(id: u64, kind: Kind) -> Event {
        Event { id: EventId::new(id), kind }
    }

    fn delta(id: u64) -> Event {
        event(id, Kind::Delta(Delta { index: 0, text: "Hi".to_owned() }))
    }

    async fn chunk(events: impl Stream<Item = Event> + Send + 'static) -> String {
        let body = EventStream::new(events, KeepAlive::default()).into_response().into_body();
        String::from_utf8(to_bytes(body, 1 << 20).await.unwrap().to_vec()).unwrap()
    }

    #[tokio::test]
    async fn response_is_uncached_unbuffered_event_stream() {
        let response = EventStream::new(stream::iter([delta(1)]), KeepAlive::default()).into_response();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-store");
        assert_eq!(response.headers()["x-accel-buffering"], "no");
        assert!(!response.headers().contains_key("content-length"));
    }

    /// Returns the chunks of a response.
    async fn chunks(events: impl Stream<Item = Event> + Send + 'static) -> Vec<String> {
        let body = EventStream::new(events, KeepAlive::default()).into_response().into_body();
        body.into_data_stream()
            .map(|chunk| String::from_utf8(chunk.unwrap().to_vec()).unwrap())
            .collect()
            .await
    }

    #[tokio::test]
    async fn events_that_are_ready_leave_in_one_chunk() {
        let result = Kind::Result(to_raw_value("done").unwrap());
        let [delta_text, result_text] = [delta(1), event(2, result.clone())].map(|event| event.to_sse());
        let all = chunks(stream::iter([delta(1), event(2, result.clone())])).await;
        assert_eq!(all, [format!("{RETRY}{delta_text}{result_text}")]);

        // A stream that isn't ready in between.
        let (mut is_paused, mut events) = (false, vec![event(2, result), delta(1)]);
        let paused = stream::poll_fn(move |context| {
            is_paused = !is_paused;
            if is_paused {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(events.pop())
        });
        assert_eq!(chunks(paused).await, [RETRY, delta_text.as_str(), result_text.as_str()]);
    }

    #[tokio::test]
    async fn long_chunk_takes_no_further_event() {
        let text = "x".repeat(MAX_CHUNK_BYTES);
        let long = |id| event(id, Kind::Delta(Delta { index: 0, text: text.clone() }));
        let chunks = chunks(stream::iter([long(1), long(2), long(3)])).await;
        assert_eq!(chunks.len(), 4, "one for each, and the request to reconnect");
    }

    #[tokio::test]
    async fn nothing_follows_the_result() {
        let result = Kind::Result(to_raw_value("done").unwrap());
        let text = chunk(stream::iter([delta(1), event(2, result), delta(3)])).await;
        assert_eq!(
            text,
            "retry: 1000\nid: 1\nevent: delta\ndata: {\"Index\":0,\"Text\":\"Hi\"}\n\n\
             id: 2\nevent: result\ndata: \"done\"\n\n"
        );
    }

    #[tokio::test]
    async fn stream_without_result_asks_client_to_reconnect() {
        let text = chunk(stream::iter([event(1, Kind::Reset(Reset::default()))])).await;
        assert_eq!(text, "retry: 1000\nid: 1\nevent: reset\ndata: {}\n\nretry: 1000\n");
    }

    #[tokio::test]
    async fn text_events_end_with_the_last_one() {
        let events = stream::iter(["event: a\ndata: 1\n\n".to_owned(), "data: 2\n\n".to_owned()]);
        let response = TextEvents::new(events, KeepAlive::default()).into_response();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        assert_eq!(body, "event: a\ndata: 1\n\ndata: 2\n\n");
    }

    #[tokio::test]
    async fn heartbeats_fill_silence_without_losing_events() {
        let quick = KeepAlive { heartbeat: Duration::from_millis(1), ..KeepAlive::default() };
        let (send, receive) = futures::channel::mpsc::unbounded();
        let mut body = EventStream::new(receive, quick).into_response().into_body().into_data_stream();
        let mut next = async || body.next().await.unwrap().unwrap();
        assert_eq!(next().await, RETRY);
        assert_eq!((next().await, next().await), (HEARTBEAT.into(), HEARTBEAT.into()));
        send.unbounded_send(delta(7)).unwrap();
        let mut after = next().await;
        while after == HEARTBEAT {
            after = next().await;
        }
        assert!(after.starts_with(b"id: 7\n"), "{after:?}");
    }
}
