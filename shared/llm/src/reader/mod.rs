//! Turns the bytes of a stream into a reply: decodes events and accumulates them. Pure.

use agent::model::{Error, Observer, Reply, Wire};

use crate::accumulator::{Accumulate, Progress, StateOptions};
use crate::error_object::ErrorObject;
use crate::{event_stream, sse, wire};

/// The most bytes of a stream. Many times the longest answer, since every word has its own event and the terminal event
/// repeats the text.
const MAX_BYTES: usize = 256 << 20;

/// The decoder of a stream.
#[derive(Debug)]
enum Decoder {
    /// Of an event stream in text.
    Text(sse::Decoder),
    /// Of AWS's event stream in binary frames.
    Frames(event_stream::Decoder),
}

impl Decoder {
    fn push(&mut self, piece: &[u8], sink: &mut impl FnMut(sse::Event)) -> Result<(), Error> {
        match self {
            Self::Text(decoder) => decoder.push(piece, sink).map_err(|sse::TooLong| Error::Malformed),
            Self::Frames(decoder) => {
                decoder.push(piece, sink).map_err(|event_stream::Unreadable| Error::Malformed)
            }
        }
    }
}

/// The reader of a response stream.
#[derive(Debug)]
pub struct Reader {
    decoder: Decoder,
    accumulator: Box<dyn Accumulate>,
    bytes: usize,
}

impl Reader {
    /// Creates a reader for the response to a request with this `state`. Pass a different nonce for each response.
    pub fn new(limits: sse::Limits, wire: Wire, state: StateOptions, nonce: u64) -> Self {
        let decoder = match wire {
            Wire::Responses | Wire::ChatCompletions | Wire::AnthropicMessages => {
                Decoder::Text(sse::Decoder::new(limits))
            }
            Wire::BedrockConverse => Decoder::Frames(event_stream::Decoder::new(limits.event)),
        };
        Self { decoder, accumulator: wire::accumulator(wire, state, nonce), bytes: 0 }
    }

    /// True if any text was emitted.
    pub fn has_text(&self) -> bool {
        self.accumulator.has_text()
    }

    /// True if any output arrived.
    pub fn has_output(&self) -> bool {
        self.accumulator.has_output()
    }

    /// Returns the error that the stream reported.
    pub fn error(&self) -> Option<&ErrorObject> {
        self.accumulator.error()
    }

    /// Reads a chunk and emits its text. Ignores data after the terminal event.
    ///
    /// # Errors
    ///
    /// The error that the stream reports, or [`Error::Malformed`] if it can't be read.
    pub fn push(&mut self, piece: &[u8], observer: &mut Observer<'_>) -> Result<Progress, Error> {
        self.bytes = self.bytes.saturating_add(piece.len());
        if self.bytes > MAX_BYTES {
            return Err(Error::Malformed);
        }
        let accumulator = &mut self.accumulator;
        let mut progress = Ok(Progress::Pending);
        let decoded = self.decoder.push(piece, &mut |event| {
            if progress == Ok(Progress::Pending) {
                progress = accumulator.push(&event.kind, &event.data, observer);
            }
        });
        match (progress, decoded) {
            (Ok(Progress::Pending), Err(error)) => Err(error),
            (progress, _) => progress,
        }
    }

    /// Ends the stream. The last event of a stream in text may lack its blank line.
    ///
    /// # Errors
    ///
    /// As in [`Reader::push`], or [`Error::Malformed`] if the response is incomplete.
    pub fn finish(&mut self, observer: &mut Observer<'_>) -> Result<Reply, Error> {
        let end: &[u8] = match &self.decoder {
            Decoder::Text(_) => b"\n\n",
            Decoder::Frames(_) => b"",
        };
        match self.push(end, observer)? {
            Progress::Complete(reply) => Ok(reply),
            Progress::Pending => self.accumulator.finish(observer),
        }
    }

    /// Reads a response that was sent as one JSON document instead of a stream.
    ///
    /// # Errors
    ///
    /// As in [`Reader::finish`].
    pub fn read_buffered(&mut self, body: &[u8], observer: &mut Observer<'_>) -> Result<Reply, Error> {
        let body = std::str::from_utf8(body).map_err(|_| Error::Malformed)?;
        match self.accumulator.push("", body, observer)? {
            Progress::Complete(reply) => Ok(reply),
            Progress::Pending => self.accumulator.finish(observer),
        }
    }
}

#[cfg(test)]
mod tests;
