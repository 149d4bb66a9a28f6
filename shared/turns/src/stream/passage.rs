//! The text of a segment, and a reader's place in it.

use agent::output_filter::FilteredText;
use contracts::stream::{Delta, Event, Kind, Reset, ResetReason};
use protocol::stream_position::{Segment, StreamPosition};

/// A reader's position.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor {
    /// The position of the last event it got.
    pub(super) position: Option<StreamPosition>,
    /// The number of UTF-16 code units of the segment that it got, if known.
    pub(super) index: Option<u64>,
    /// The number of notes that it got.
    pub(super) notes_seen: u64,
}

impl Cursor {
    /// Creates a cursor after a position.
    pub(super) fn after(position: Option<StreamPosition>) -> Self {
        Self { position, index: None, notes_seen: 0 }
    }

    fn advanced(self, position: StreamPosition, index: u64) -> Self {
        Self { position: Some(position), index: Some(index), ..self }
    }
}

/// The text of a segment that is final.
#[derive(Debug)]
pub(super) struct Passage {
    /// The position at which the text begins. It is the segment's start, unless another process wrote the text before
    /// it.
    pub(super) start: StreamPosition,
    /// The reason for the reset that began the segment, if one did.
    pub(super) reset: Option<ResetReason>,
    /// The number of UTF-16 code units of the segment before the text.
    pub(super) index: u64,
    /// The text.
    pub(super) text: String,
}

impl Passage {
    pub(super) fn new(segment: Segment, reset: Option<ResetReason>) -> Self {
        Self { start: StreamPosition::start(segment), reset, index: 0, text: String::new() }
    }

    pub(super) fn segment(&self) -> Segment {
        self.start.segment
    }

    /// Returns the position after the text.
    pub(super) fn end(&self) -> StreamPosition {
        StreamPosition { offset: self.start.offset + self.text.len(), ..self.start }
    }

    /// Appends the end of a text, up to the first file in it: nothing stores a file that the stream no longer shows.
    pub(super) fn push_end(&mut self, FilteredText { text, blobs }: &FilteredText) {
        if blobs.is_empty() {
            self.text.push_str(text);
        }
    }

    /// Returns the next text up to `visible` bytes, or the reset before it, and advances the cursor.
    pub(super) fn next(&self, visible: usize, cursor: &mut Cursor) -> Option<Event> {
        let start = StreamPosition::start(self.segment());
        match cursor.position {
            Some(position) if position.segment == self.segment() => {}
            // The text of an older attempt: the reader is further.
            Some(position) if position > start => return None,
            Some(position) if position.has_text() => {
                let is_ours = position.segment.is_of_same_attempt(self.segment());
                let reason = if is_ours { self.reset } else { Some(ResetReason::TakenOver) };
                *cursor = cursor.advanced(start, 0);
                return Some(Event { id: Some(start.event_id()), kind: Kind::Reset(Reset { reason }) });
            }
            _ => *cursor = cursor.advanced(start, 0),
        }
        let offset = cursor.position.map_or(0, |position| position.offset);
        let skipped = offset.checked_sub(self.start.offset)?;
        let (before, text) = (self.text.get(..skipped)?, self.text.get(skipped..visible)?);
        if text.is_empty() {
            return None;
        }
        let index = cursor.index.unwrap_or_else(|| self.index + utf16_length(before));
        let end = StreamPosition { segment: self.segment(), offset: offset + text.len() };
        *cursor = cursor.advanced(end, index + utf16_length(text));
        Some(Event { id: Some(end.event_id()), kind: Kind::Delta(Delta { index, text: text.to_owned() }) })
    }
}

/// Returns the length of a text in UTF-16 code units, which browsers use.
pub(crate) fn utf16_length(text: &str) -> u64 {
    u64::try_from(text.encode_utf16().count()).unwrap_or(u64::MAX)
}
