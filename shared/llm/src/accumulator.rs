//! Accumulates the events of a stream into one reply: the parts that all wires share.
//!
//! Pure. Each wire has its own [`Accumulate`]. A reply's text is the concatenation of the emitted deltas, with a blank
//! line between segments.

use std::borrow::Cow;
use std::fmt::Debug;

use agent::model::{Chain, Error, Observer, Reply, Request};

use crate::error_object::ErrorObject;
use crate::json;

/// The most bytes of a reply's text.
pub(crate) const MAX_TEXT: usize = 8 << 20;

/// The progress of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The stream continues.
    Pending,
    /// The terminal event arrived.
    Complete(Reply),
}

/// The conversation state that a request asks for. Compared with the state that the response reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StateOptions {
    /// Set to store the response.
    pub store: bool,
    /// Set if the request continues from a stored response.
    pub chained: bool,
}

impl StateOptions {
    /// Returns the options of a request.
    pub fn from_request(request: &Request) -> Self {
        Self { store: request.store, chained: matches!(request.chain, Chain::Continues { .. }) }
    }

    /// True if the response reports that it didn't continue from the previous one.
    pub(crate) fn is_chain_lost(self, previous: Option<&Option<String>>) -> bool {
        self.chained && previous == Some(&None)
    }
}

/// The accumulator of one wire.
pub trait Accumulate: Debug + Send {
    /// Adds an event and emits its text.
    ///
    /// # Errors
    ///
    /// The error that the event reports, or [`Error::Malformed`] if it can't be read.
    fn push(&mut self, kind: &str, data: &str, observer: &mut Observer<'_>) -> Result<Progress, Error>;

    /// Ends the stream after its last event.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if the response is incomplete.
    fn finish(&mut self, observer: &mut Observer<'_>) -> Result<Reply, Error>;

    /// True if any text was emitted.
    fn has_text(&self) -> bool;

    /// True if any output arrived.
    fn has_output(&self) -> bool;

    /// Returns the error that an event reported.
    fn error(&self) -> Option<&ErrorObject>;
}

/// The text of a reply under construction.
#[derive(Debug, Default)]
pub(crate) struct ReplyText {
    /// The emitted text.
    pub(crate) emitted: String,
    /// Set if any output arrived.
    pub(crate) has_output: bool,
    /// The place of each segment, and its start in the text.
    pub(crate) segments: Vec<((u32, u32), usize)>,
    /// The place of the last delta.
    segment: Option<(u32, u32)>,
    pieces: Pieces,
    /// The place of the last piece of reasoning.
    reasoning: Option<(u32, u32)>,
    reasoning_pieces: Pieces,
}

/// The pieces of a text, which may cut a character in halves.
#[derive(Debug, Default)]
struct Pieces {
    /// The first half of a character at the end of the last piece.
    open_half: String,
}

impl Pieces {
    /// Returns the characters that are whole with this piece.
    fn join<'a>(&mut self, piece: &'a str) -> Cow<'a, str> {
        if self.open_half.is_empty() && !json::has_half(piece) {
            return Cow::Borrowed(piece);
        }
        let joined = std::mem::take(&mut self.open_half) + piece;
        let (piece, open_half) = json::split_open_half(&joined);
        self.open_half.push_str(open_half);
        Cow::Owned(json::whole_characters(piece).into_owned())
    }

    /// Returns the half of a character that is left.
    fn end(&mut self) -> String {
        json::whole_characters(&std::mem::take(&mut self.open_half)).into_owned()
    }
}

impl ReplyText {
    /// Records that output arrived.
    pub(crate) fn mark_output(&mut self, observer: &mut Observer<'_>) {
        (self.has_output, observer.has_output) = (true, true);
    }

    /// Records that a piece of output arrived that isn't text. The model wrote it, so it is paid for.
    pub(crate) fn mark_piece(&mut self, piece: &str, observer: &mut Observer<'_>) {
        self.mark_output(observer);
        observer.meter.receive(piece);
    }

    /// Emits a delta of the segment at this place.
    pub(crate) fn push(
        &mut self,
        place: (u32, u32),
        delta: &str,
        observer: &mut Observer<'_>,
    ) -> Result<(), Error> {
        if delta.is_empty() {
            return Ok(());
        }
        self.mark_piece(delta, observer);
        if self.segment != Some(place) {
            self.end_segment(observer)?;
            self.segments.push((place, self.emitted.len()));
            if self.segment.replace(place).is_some() {
                self.emit("\n\n", observer)?;
            }
        }
        let piece = self.pieces.join(delta);
        self.emit(&piece, observer)
    }

    /// Passes on a piece of the reasoning at this place, which is no text of the reply.
    pub(crate) fn push_reasoning(&mut self, place: (u32, u32), piece: &str, observer: &mut Observer<'_>) {
        self.mark_piece(piece, observer);
        if !piece.is_empty() {
            let starts_part = self.reasoning.replace(place) != Some(place);
            observer.push_reasoning(starts_part, &self.reasoning_pieces.join(piece));
        }
    }

    /// True if reasoning at this place was passed on.
    pub(crate) fn has_reasoning(&self, place: (u32, u32)) -> bool {
        self.reasoning.is_some_and(|last| last >= place)
    }

    /// Emits the half of a character that is left at the end of a segment.
    pub(crate) fn end_segment(&mut self, observer: &mut Observer<'_>) -> Result<(), Error> {
        let rest = self.pieces.end();
        self.emit(&rest, observer)
    }

    /// Emits a piece of text.
    pub(crate) fn emit(&mut self, piece: &str, observer: &mut Observer<'_>) -> Result<(), Error> {
        if self.emitted.len().saturating_add(piece.len()) > MAX_TEXT {
            return Err(Error::Malformed);
        }
        if !piece.is_empty() {
            self.emitted.push_str(piece);
            observer.push_text(piece);
        }
        Ok(())
    }

    /// True if there is no text, or only white space.
    pub(crate) fn is_blank(&self) -> bool {
        self.emitted.trim().is_empty()
    }

    /// Takes the text.
    pub(crate) fn take(&mut self) -> String {
        std::mem::take(&mut self.emitted)
    }
}
