//! The reading half of a stream.

use protocol::stream_position::StreamPosition;
use std::{collections::VecDeque, sync::Arc, time::Duration};

use contracts::stream::{Event, Kind};
use futures::{
    FutureExt, StreamExt,
    future::{Either, select},
    stream::{self, BoxStream},
};
use tokio::time::{Instant, sleep_until};

use super::{
    conclude::{conclude, refusal_event},
    passage::Cursor,
    writer::Writer,
};
use crate::refusal::Refusal;
use agent::outcome::Response;

/// The rest of a stream: deltas and resets, then exactly one result. It ends without a result if the turn outlasts
/// this connection, and the client has to reconnect.
pub type Events = BoxStream<'static, Event>;

/// The shortest time between a delta and the next event. Text that arrives meanwhile is part of one delta, so the cost
/// of a stream depends on its duration and not on the size of the model's chunks.
pub(super) const DELTA_INTERVAL: Duration = Duration::from_millis(20);

/// A stream as one connection reads it.
#[derive(Debug)]
pub struct Feed {
    writer: Arc<Writer>,
    cursor: Cursor,
    /// The earliest time of the next event, after a delta.
    next_event: Option<Instant>,
}

/// The most time until a response begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartTimeouts {
    /// For a stream without an event.
    pub streamed: Duration,
    /// For a response that isn't streamed and isn't ready.
    pub buffered: Duration,
}

/// The start of a response.
pub enum ResponseStart<F> {
    /// The response is complete and isn't streamed.
    Complete(Response),
    /// The request was rejected before the response began.
    Refused(Refusal),
    /// The response isn't streamed and isn't ready.
    Pending(F),
    /// The response is streamed.
    Streaming(Events),
    /// The response is streamed and the client already has its end. Carries the complete response.
    AlreadyDelivered(Response),
}

impl Feed {
    pub(super) fn new(writer: Arc<Writer>, seen: Option<StreamPosition>) -> Self {
        Self { writer, cursor: Cursor::after(seen), next_event: None }
    }

    /// Waits until the kind of response is known: for the first event, the end, or a timeout.
    ///
    /// `work` writes into the other half. It must make progress on its own, because a client that disconnects must
    /// not end the turn.
    pub async fn start<F>(mut self, mut work: F, timeouts: StartTimeouts) -> ResponseStart<F>
    where
        F: Future<Output = Result<Response, Refusal>> + Unpin + Send + 'static,
    {
        // A continuation knows that it is streamed once its turn has been read, long before this timeout.
        let first_wait = timeouts.streamed.min(timeouts.buffered);
        let waits = [first_wait, timeouts.buffered.saturating_sub(first_wait)];
        for wait in waits {
            match tokio::time::timeout(wait, self.first(&mut work)).await {
                Ok(FirstItem::Event(event)) => {
                    return ResponseStart::Streaming(self.events(vec![event], work));
                }
                Ok(FirstItem::End(end)) => return self.end(end),
                Err(_) if self.writer.is_streamed() => {
                    return ResponseStart::Streaming(self.events(Vec::new(), work));
                }
                Err(_) => {}
            }
        }
        ResponseStart::Pending(work)
    }

    async fn first<F>(&mut self, work: &mut F) -> FirstItem
    where
        F: Future<Output = Result<Response, Refusal>> + Unpin,
    {
        let event = self.next().boxed();
        match select(event, work).await {
            Either::Left((event, _)) => FirstItem::Event(event),
            Either::Right((end, _)) => FirstItem::End(end),
        }
    }

    fn end<F>(mut self, end: Result<Response, Refusal>) -> ResponseStart<F> {
        let streamed = self.writer.is_streamed();
        match end {
            Ok(response) if !streamed => ResponseStart::Complete(response),
            Ok(response) if self.cursor.position == Some(StreamPosition::result(self.writer.round())) => {
                ResponseStart::AlreadyDelivered(response)
            }
            Ok(response) => ResponseStart::Streaming(stream::iter(self.conclude(&response)).boxed()),
            Err(Refusal::TurnInProgress { .. }) if streamed => {
                ResponseStart::Streaming(stream::empty().boxed())
            }
            Err(refusal) => ResponseStart::Refused(refusal),
        }
    }

    fn events<F>(self, first: Vec<Event>, work: F) -> Events
    where
        F: Future<Output = Result<Response, Refusal>> + Unpin + Send + 'static,
    {
        let rest = stream::unfold((self, Some(work), VecDeque::from(first)), |state| async {
            let (mut feed, mut work, mut ready) = state;
            if let Some(event) = ready.pop_front() {
                return Some((event, (feed, work, ready)));
            }
            match feed.first(work.as_mut()?).await {
                FirstItem::Event(event) => Some((event, (feed, work, ready))),
                FirstItem::End(end) => {
                    ready.extend(feed.final_events(end));
                    Some((ready.pop_front()?, (feed, None, ready)))
                }
            }
        });
        rest.boxed()
    }

    /// Returns the final events. A rejection after the first event becomes a result. A turn that outlasts this
    /// connection has no result yet.
    fn final_events(&mut self, end: Result<Response, Refusal>) -> Vec<Event> {
        match end {
            Ok(response) => self.conclude(&response),
            Err(Refusal::TurnInProgress { .. }) => Vec::new(),
            Err(refusal) => vec![refusal_event(refusal.error())],
        }
    }

    fn conclude(&mut self, response: &Response) -> Vec<Event> {
        let mut events = self.writer.before_answer(response.segment, &mut self.cursor);
        events.extend(conclude(self.cursor.position, self.writer.round(), response));
        events
    }

    /// Waits for the next event before the end, at least [`DELTA_INTERVAL`] after a delta. Cancel safe.
    async fn next(&mut self) -> Event {
        if let Some(at) = self.next_event {
            sleep_until(at).await;
            self.next_event = None;
        }
        loop {
            if let Some(event) = self.writer.next(&mut self.cursor) {
                let is_delta = matches!(event.kind, Kind::Delta(_) | Kind::Reasoning(_));
                self.next_event = is_delta.then(|| Instant::now() + DELTA_INTERVAL);
                return event;
            }
            self.writer.changed().await;
        }
    }
}

enum FirstItem {
    Event(Event),
    End(Result<Response, Refusal>),
}
