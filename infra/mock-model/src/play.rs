//! Sends a plan over a connection.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream;

use crate::bill::Bill;
use crate::memory::{Memory, Stored};
use crate::plan::Emission;
use crate::recorder::{Moment, Recorder};

/// A silent reply ends after this long even if the client never gives up.
pub(crate) const SILENCE: Duration = Duration::from_secs(15 * 60);

/// Prefix of an event with text.
const TEXT: &[u8] = b"event: response.output_text.delta\n";

/// Returns a reply that streams these emissions.
pub(crate) fn streamed(
    media_type: &'static str,
    emissions: Vec<Emission>,
    bill: Bill,
    stored: Option<(Stored, Arc<Memory>)>,
    recorder: Recorder,
) -> Response {
    let playing = Playing { emissions: emissions.into(), sent: Vec::new(), bill, stored, recorder };
    let body = Body::from_stream(stream::unfold(playing, Playing::next));
    ([(header::CONTENT_TYPE, media_type)], body).into_response()
}

/// Returns a reply whose connection breaks before its first byte.
pub(crate) fn broken() -> Response {
    let failure = stream::iter([Err::<Bytes, _>(reset())]);
    Body::from_stream(failure).into_response()
}

/// A running stream. It counts as abandoned if dropped before its end.
struct Playing {
    emissions: VecDeque<Emission>,
    /// The events that were handed to the connection.
    sent: Vec<Bytes>,
    bill: Bill,
    /// The response, if it is stored.
    stored: Option<(Stored, Arc<Memory>)>,
    recorder: Recorder,
}

impl Playing {
    async fn next(mut self) -> Option<(io::Result<Bytes>, Self)> {
        loop {
            // Pending emissions stay in the queue, so that a disconnect meanwhile counts as abandoned.
            match self.emissions.front()? {
                Emission::Pause(pause) => self.recorder.pause(*pause).await,
                // The server flushes earlier text only if it has to wait.
                Emission::Reset => tokio::task::yield_now().await,
                Emission::Event(_) => {}
            }
            match self.emissions.pop_front()? {
                Emission::Pause(_) => {}
                Emission::Event(text) => {
                    if text.starts_with(TEXT) {
                        self.recorder.note(Moment::TextSent);
                    }
                    self.sent.push(text.clone());
                    return Some((Ok(text), self));
                }
                Emission::Reset => return Some((Err(reset()), self)),
            }
        }
    }
}

impl Drop for Playing {
    fn drop(&mut self) {
        let charge = self.bill.up_to(&self.sent, self.emissions.is_empty());
        if let Some((stored, memory)) = &self.stored {
            memory.keep_readable(stored, charge);
        }
        self.recorder.charge(charge);
        if !self.emissions.is_empty() {
            self.recorder.abandon();
        }
    }
}

fn reset() -> io::Error {
    io::Error::from(io::ErrorKind::ConnectionReset)
}
