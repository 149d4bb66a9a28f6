//! The half of a stream that a connection reads.

use protocol::place::Place;
use std::{collections::VecDeque, sync::Arc, time::Duration};

use contracts::stream::Event;
use futures::{
    FutureExt, StreamExt,
    future::{Either, select},
    stream::{self, BoxStream},
};

use super::{
    Writer,
    conclude::{conclude, refuse},
    writer::Cursor,
};
use crate::refusal::Refusal;
use agent::outcome::Response;

/// The rest of a stream: deltas and resets as they come, then exactly one result. It ends without one
/// when the turn outlasts the wait of this connection: whoever wants the rest comes back.
pub type Events = BoxStream<'static, Event>;

/// A stream as one connection reads it.
#[derive(Debug)]
pub struct Feed {
    writer: Arc<Writer>,
    cursor: Cursor,
}

/// How long a connection is left without a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Until a stream begins though there is no event yet.
    pub streamed: Duration,
    /// Until an answer that isn't streamed begins though it is not there yet.
    pub buffered: Duration,
}

/// How an answer begins.
pub enum Opened<F> {
    /// Whole: it isn't streamed.
    Answered(Response),
    /// The request was refused before anything was told.
    Refused(Refusal),
    /// It isn't streamed, and still worked on.
    Late(F),
    /// It is streamed.
    Streaming(Events),
    /// It is streamed, and the client has seen its end before: there is no more, but this is what it was.
    Seen(Response),
}

impl Feed {
    pub(super) fn new(writer: Arc<Writer>, seen: Option<Place>) -> Self {
        Self { writer, cursor: Cursor::after(seen) }
    }

    /// Waits for what tells how the answer has to begin: the first event, its end, or `patience`.
    ///
    /// `work` is what writes into the other half. It has to go on by itself, whether this is polled or
    /// not: a client that goes away ends no turn.
    pub async fn answer<F>(mut self, mut work: F, patience: Patience) -> Opened<F>
    where
        F: Future<Output = Result<Response, Refusal>> + Unpin + Send + 'static,
    {
        // Whether a continuation is streamed is known once its turn was read, long before that.
        let known = patience.streamed.min(patience.buffered);
        let waits = [known, patience.buffered.saturating_sub(known)];
        for wait in waits {
            match tokio::time::timeout(wait, self.first(&mut work)).await {
                Ok(First::Event(event)) => return Opened::Streaming(self.events(vec![event], work)),
                Ok(First::Ended(ended)) => return self.ended(ended),
                Err(_) if self.writer.is_streamed() => {
                    return Opened::Streaming(self.events(Vec::new(), work));
                }
                Err(_) => {}
            }
        }
        Opened::Late(work)
    }

    async fn first<F>(&mut self, work: &mut F) -> First
    where
        F: Future<Output = Result<Response, Refusal>> + Unpin,
    {
        let event = self.next().boxed();
        match select(event, work).await {
            Either::Left((event, _)) => First::Event(event),
            Either::Right((ended, _)) => First::Ended(ended),
        }
    }

    fn ended<F>(self, ended: Result<Response, Refusal>) -> Opened<F> {
        let streamed = self.writer.is_streamed();
        match ended {
            Ok(response) if !streamed => Opened::Answered(response),
            Ok(response) if self.cursor.place == Some(Place::result(self.writer.round())) => {
                Opened::Seen(response)
            }
            Ok(response) => Opened::Streaming(stream::iter(self.conclude(&response)).boxed()),
            Err(Refusal::TurnInProgress { .. }) if streamed => Opened::Streaming(stream::empty().boxed()),
            Err(refusal) => Opened::Refused(refusal),
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
                First::Event(event) => Some((event, (feed, work, ready))),
                First::Ended(ended) => {
                    ready.extend(feed.last(ended));
                    Some((ready.pop_front()?, (feed, None, ready)))
                }
            }
        });
        rest.boxed()
    }

    /// The events of the end. A refusal after the first event is told as a result; a turn that outlasts
    /// this connection has none yet.
    fn last(&self, ended: Result<Response, Refusal>) -> Vec<Event> {
        match ended {
            Ok(response) => self.conclude(&response),
            Err(Refusal::TurnInProgress { .. }) => Vec::new(),
            Err(refusal) => vec![refuse(refusal.error())],
        }
    }

    fn conclude(&self, response: &Response) -> Vec<Event> {
        conclude(self.cursor.place, self.writer.round(), response)
    }

    /// The next delta or reset; waits until there is one. Nothing is lost when it is dropped.
    async fn next(&mut self) -> Event {
        loop {
            if let Some(event) = self.writer.next(&mut self.cursor) {
                return event;
            }
            self.writer.changed().await;
        }
    }
}

enum First {
    Event(Event),
    Ended(Result<Response, Refusal>),
}
