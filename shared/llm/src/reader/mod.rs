//! Turns the bytes of a response into a reply: decompresses and decodes them, and accumulates the events. Pure.
//!
//! The body decides its form, not a header: a stream of events in text, binary frames, or one JSON document.

use agent::model::{Error, Observer, Reply, Wire};

use crate::accumulator::{Accumulate, Progress, StateOptions};
use crate::compression::{Decompressor, Unreadable};
use crate::error_object::ErrorObject;
use crate::{event_stream, sse, wire};

/// The most bytes of a stream. Many times the longest answer, since every word has its own event and the terminal event
/// repeats the text.
const MAX_BYTES: usize = 256 << 20;

/// The form of a body.
#[derive(Debug)]
enum Form {
    /// An event stream in text.
    Events(sse::Decoder),
    /// AWS's event stream in binary frames.
    Frames(event_stream::Decoder),
    /// A response without streaming, or an error.
    Document(Vec<u8>),
}

impl Form {
    /// Returns the form of a body with this first byte, after white space.
    fn of(first: u8, limits: sse::Limits, wire: Wire) -> Self {
        match (first, wire) {
            (b'{' | b'[', _) => Self::Document(Vec::new()),
            // The length of a frame, of which a limit keeps the first byte at zero.
            (0, Wire::BedrockConverse) => Self::Frames(event_stream::Decoder::new(limits.event)),
            _ => Self::Events(sse::Decoder::new(limits)),
        }
    }
}

/// The reader of a response.
#[derive(Debug)]
pub struct Reader {
    limits: sse::Limits,
    wire: Wire,
    decompressor: Decompressor,
    /// `None` until the first byte.
    form: Option<Form>,
    accumulator: Box<dyn Accumulate>,
    bytes: usize,
}

impl Reader {
    /// Creates a reader for the response to a request with this `state`. Pass a different nonce for each response.
    pub fn new(limits: sse::Limits, wire: Wire, state: StateOptions, nonce: u64) -> Self {
        Self {
            limits,
            wire,
            decompressor: Decompressor::new(None),
            form: None,
            accumulator: wire::accumulator(wire, state, nonce),
            bytes: 0,
        }
    }

    /// Sets the `Content-Encoding` of the response.
    #[must_use]
    pub fn with_content_encoding(self, value: Option<&str>) -> Self {
        Self { decompressor: Decompressor::new(value), ..self }
    }

    /// True if any text was emitted.
    pub fn has_text(&self) -> bool {
        self.accumulator.has_text()
    }

    /// True if any output arrived.
    pub fn has_output(&self) -> bool {
        self.accumulator.has_output()
    }

    /// Returns the error that the response reported.
    pub fn error(&self) -> Option<&ErrorObject> {
        self.accumulator.error()
    }

    /// Reads a chunk and emits its text. Ignores data after the terminal event.
    ///
    /// # Errors
    ///
    /// The error that the response reports, or [`Error::Malformed`] if it can't be read.
    pub fn push(&mut self, chunk: &[u8], observer: &mut Observer<'_>) -> Result<Progress, Error> {
        let Self { limits, wire, decompressor, form, accumulator, bytes } = self;
        let mut progress = Progress::Pending;
        let read = decompressor.push(chunk, &mut |piece| {
            *bytes = bytes.saturating_add(piece.len());
            if *bytes > MAX_BYTES {
                return Err(Stop::Failed(Error::Malformed));
            }
            match read_piece(form, *limits, *wire, piece, accumulator.as_mut(), observer)? {
                Progress::Pending => Ok(()),
                complete => {
                    progress = complete;
                    Err(Stop::Complete)
                }
            }
        });
        match read {
            Ok(()) | Err(Stop::Complete) => Ok(progress),
            // If the model has stopped, the rest isn't needed.
            Err(Stop::Unreadable) => self.accumulator.finish(observer).map(Progress::Complete),
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    /// Ends the response. The last event of a stream in text may lack its blank line.
    ///
    /// # Errors
    ///
    /// As in [`Reader::push`], or [`Error::Malformed`] if the response is incomplete.
    pub fn finish(&mut self, observer: &mut Observer<'_>) -> Result<Reply, Error> {
        let mut start = Vec::new();
        _ = self.decompressor.finish(&mut |piece: &[u8]| {
            start.extend_from_slice(piece);
            Ok::<(), Unreadable>(())
        });
        let Self { limits, wire, form, accumulator, .. } = self;
        start.extend_from_slice(b"\n\n");
        let is_frames = matches!(form, Some(Form::Frames(_)));
        let end = if is_frames { b"".as_slice() } else { start.as_slice() };
        match read_piece(form, *limits, *wire, end, accumulator.as_mut(), observer) {
            Ok(Progress::Complete(reply)) => return Ok(reply),
            Err(Stop::Failed(error)) => return Err(error),
            Ok(Progress::Pending) | Err(Stop::Complete | Stop::Unreadable) => {}
        }
        if let Some(Form::Document(document)) = form {
            let document = String::from_utf8_lossy(document);
            if let Progress::Complete(reply) = accumulator.push("", &document, observer)? {
                return Ok(reply);
            }
        }
        accumulator.finish(observer)
    }
}

/// The reason to read no further.
enum Stop {
    Complete,
    Unreadable,
    Failed(Error),
}

impl From<Unreadable> for Stop {
    fn from(Unreadable: Unreadable) -> Self {
        Self::Unreadable
    }
}

/// Reads a decompressed piece.
fn read_piece(
    form: &mut Option<Form>,
    limits: sse::Limits,
    wire: Wire,
    mut piece: &[u8],
    accumulator: &mut dyn Accumulate,
    observer: &mut Observer<'_>,
) -> Result<Progress, Stop> {
    if form.is_none() {
        // Some gateways send white space while they wait. A byte order mark may come first.
        let is_blank = |byte: &u8| byte.is_ascii_whitespace() || b"\xEF\xBB\xBF".contains(byte);
        piece = piece.split_at(piece.iter().take_while(|byte| is_blank(byte)).count()).1;
        let Some(first) = piece.first() else { return Ok(Progress::Pending) };
        *form = Some(Form::of(*first, limits, wire));
    }
    let mut progress = Ok(Progress::Pending);
    let mut sink = |event: sse::Event| {
        if progress == Ok(Progress::Pending) {
            progress = accumulator.push(&event.kind, &event.data, observer);
        }
    };
    let is_readable = match form {
        Some(Form::Events(decoder)) => {
            decoder.push(piece, &mut sink);
            true
        }
        Some(Form::Frames(decoder)) => decoder.push(piece, &mut sink).is_ok(),
        Some(Form::Document(document)) => {
            document.extend_from_slice(piece);
            document.len() <= limits.event
        }
        None => true,
    };
    match progress.map_err(Stop::Failed)? {
        Progress::Pending if !is_readable => Err(Stop::Unreadable),
        progress => Ok(progress),
    }
}

#[cfg(test)]
mod tests;
