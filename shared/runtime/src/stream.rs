//! A turn's events as an HTTP answer (AGN-034 §4.7).
//!
//! Deliberately absent: which event is due, and anything about turns.

use std::{convert::Infallible, future::ready, pin::Pin, time::Duration};

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use contracts::stream::{Event, Kind, MEDIA_TYPE};
use futures::{Stream, StreamExt, stream};
use http::{
    HeaderName, HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE},
};
use tokio::time::timeout;

use settings::Env;

/// After a connection that ended without a `result` a client comes back in a second. Also the first bytes
/// of every stream, so that whatever is in between passes the headers on at once.
///
/// No blank line ends it, here or below: some clients make an event of every blank line.
const COME_BACK: &str = "retry: 1000\n";
/// A comment: no event, but no silence either.
const HEARTBEAT: &str = ":\n";
/// Tells nginx and its like to pass on what comes as it comes.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// How long a client is left without a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// The longest silence of an event stream.
    pub heartbeat: Duration,
    /// How long an answer that is not streamed may take before it begins with whitespace.
    pub patience: Duration,
    /// The longest silence of an answer that began with whitespace.
    pub whitespace: Duration,
}

impl Default for Pace {
    /// A regional REST API ends a connection that is silent for five minutes.
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_secs(15),
            patience: Duration::from_secs(240),
            whitespace: Duration::from_secs(30),
        }
    }
}

impl Pace {
    /// The pace from the settings, with the defaults above.
    pub fn read(env: &mut Env) -> Self {
        Self {
            heartbeat: env.read(&settings::STREAM_HEARTBEAT_SECONDS),
            patience: env.read(&settings::LATE_ANSWER_AFTER_SECONDS),
            whitespace: env.read(&settings::LATE_ANSWER_WHITESPACE_SECONDS),
        }
    }
}

/// A turn's events, as they come. They end with the `result`, or without one: then the client is told
/// to come back.
#[derive(Debug)]
pub struct Streamed<S> {
    events: S,
    pace: Pace,
}

impl<S: Stream<Item = Event> + Send + 'static> Streamed<S> {
    /// An answer of these events.
    pub fn new(events: S, pace: Pace) -> Self {
        Self { events, pace }
    }
}

impl<S: Stream<Item = Event> + Send + 'static> IntoResponse for Streamed<S> {
    fn into_response(self) -> Response {
        let writing =
            Writing { events: Box::pin(self.events), heartbeat: self.pace.heartbeat, is_over: false };
        let opening = stream::once(ready(Bytes::from_static(COME_BACK.as_bytes())));
        let body = opening.chain(stream::unfold(writing, Writing::next)).map(Ok::<_, Infallible>);
        let mut response = Response::new(Body::from_stream(body));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
        response
    }
}

/// The client has the `result`: there is nothing more. This status also keeps an `EventSource` from coming
/// back.
#[derive(Debug, Clone, Copy)]
pub struct Seen;

impl IntoResponse for Seen {
    fn into_response(self) -> Response {
        StatusCode::NO_CONTENT.into_response()
    }
}

struct Writing<S> {
    events: Pin<Box<S>>,
    heartbeat: Duration,
    is_over: bool,
}

impl<S: Stream<Item = Event>> Writing<S> {
    async fn next(mut self) -> Option<(Bytes, Self)> {
        if self.is_over {
            return None;
        }
        let written = match timeout(self.heartbeat, self.events.next()).await {
            Err(_) => Bytes::from_static(HEARTBEAT.as_bytes()),
            Ok(Some(event)) => {
                self.is_over = matches!(event.kind, Kind::Result(_));
                event.to_sse().into()
            }
            Ok(None) => {
                self.is_over = true;
                Bytes::from_static(COME_BACK.as_bytes())
            }
        };
        Some((written, self))
    }
}

#[cfg(test)]
mod tests {
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

    async fn written(events: impl Stream<Item = Event> + Send + 'static) -> String {
        let body = Streamed::new(events, Pace::default()).into_response().into_body();
        String::from_utf8(to_bytes(body, 1 << 20).await.unwrap().to_vec()).unwrap()
    }

    #[tokio::test]
    async fn the_answer_is_an_event_stream_that_nobody_may_store_or_hold_back() {
        let response = Streamed::new(stream::iter([delta(1)]), Pace::default()).into_response();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-store");
        assert_eq!(response.headers()["x-accel-buffering"], "no");
        assert!(!response.headers().contains_key("content-length"));
    }

    #[tokio::test]
    async fn nothing_follows_the_result() {
        let result = Kind::Result(to_raw_value("done").unwrap());
        let text = written(stream::iter([delta(1), event(2, result), delta(3)])).await;
        assert_eq!(
            text,
            "retry: 1000\nid: 1\nevent: delta\ndata: {\"Index\":0,\"Text\":\"Hi\"}\n\n\
             id: 2\nevent: result\ndata: \"done\"\n\n"
        );
    }

    #[tokio::test]
    async fn a_stream_without_a_result_asks_its_client_back() {
        let text = written(stream::iter([event(1, Kind::Reset(Reset::default()))])).await;
        assert_eq!(text, "retry: 1000\nid: 1\nevent: reset\ndata: {}\n\nretry: 1000\n");
    }

    #[tokio::test]
    async fn silence_is_broken_by_comments_and_no_event_is_lost_to_them() {
        let quick = Pace { heartbeat: Duration::from_millis(1), ..Pace::default() };
        let (send, receive) = futures::channel::mpsc::unbounded();
        let mut body = Streamed::new(receive, quick).into_response().into_body().into_data_stream();
        let mut next = async || body.next().await.unwrap().unwrap();
        assert_eq!(next().await, COME_BACK);
        assert_eq!((next().await, next().await), (HEARTBEAT.into(), HEARTBEAT.into()));
        send.unbounded_send(delta(7)).unwrap();
        let mut after = next().await;
        while after == HEARTBEAT {
            after = next().await;
        }
        assert!(after.starts_with(b"id: 7\n"), "{after:?}");
    }
}
