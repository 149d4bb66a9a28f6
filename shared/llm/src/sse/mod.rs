//! Reads an event stream as the WHATWG HTML standard says, in whatever pieces it arrives.
//!
//! Written here because of its bounds: of the small crates that decode event streams, the established
//! ones buffer a line or an event without a limit, and one that has a limit drops what exceeds it and
//! goes on, where this adapter has to fail: an event that silently disappears could be half an answer.
//!
//! Deliberately absent: `id` and `retry`, since a response's stream can't be resumed, and any idea of
//! what the data means.

use std::borrow::Cow;

use memchr::memchr2;

/// The largest line and event, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A line without its end.
    pub line: usize,
    /// All data of one event.
    pub event: usize,
}

impl Default for Limits {
    /// The terminal event repeats the whole answer and the tools in one line, hence the megabytes.
    fn default() -> Self {
        Self { line: 8 << 20, event: 8 << 20 }
    }
}

/// One event that had a `data` line, an empty one included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its `event` field; `message` when there was none.
    pub kind: String,
    /// Its `data` lines, joined with LF.
    pub data: String,
}

/// A line or an event exceeds the limits; nothing more can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a line or an event of the stream is too long")]
pub struct TooLong;

/// The state between two pieces of a stream.
#[derive(Debug)]
pub struct Decoder {
    limits: Limits,
    /// The unfinished line.
    line: Vec<u8>,
    /// The last piece ended a line with CR; an LF that comes next belongs to it.
    after_cr: bool,
    /// A byte order mark may only lead the first line.
    first_line: bool,
    kind: String,
    data: Option<String>,
}

impl Decoder {
    /// A decoder at the start of a stream.
    pub fn new(limits: Limits) -> Self {
        Self { limits, line: Vec::new(), after_cr: false, first_line: true, kind: String::new(), data: None }
    }

    /// Reads a piece and hands each event that it finishes to `sink`. What a stream leaves unfinished
    /// at its end is no event.
    ///
    /// # Errors
    ///
    /// [`TooLong`], after the events that came before it.
    pub fn push(&mut self, mut piece: &[u8], sink: &mut impl FnMut(Event)) -> Result<(), TooLong> {
        while let Some(first) = piece.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                piece = piece.get(1..).unwrap_or_default();
                continue;
            }
            let end = memchr2(b'\r', b'\n', piece);
            let (part, rest) = piece.split_at_checked(end.unwrap_or(piece.len())).ok_or(TooLong)?;
            if self.line.len().saturating_add(part.len()) > self.limits.line {
                return Err(TooLong);
            }
            self.line.extend_from_slice(part);
            let Some((end, rest)) = rest.split_first() else {
                return Ok(());
            };
            self.after_cr = *end == b'\r';
            piece = rest;
            let line = std::mem::take(&mut self.line);
            self.read_line(&line, sink)?;
            self.line = line;
            self.line.clear();
        }
        Ok(())
    }

    fn read_line(&mut self, line: &[u8], sink: &mut impl FnMut(Event)) -> Result<(), TooLong> {
        let mut line = line;
        if std::mem::take(&mut self.first_line) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            self.dispatch(sink);
            return Ok(());
        }
        let mut halves = line.splitn(2, |byte| *byte == b':');
        let field = halves.next().unwrap_or_default();
        let value = halves.next().unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        // No byte of a longer UTF-8 sequence looks like a line end, so decoding by line is the same as
        // decoding the whole stream.
        let value = str::from_utf8(value).map_or_else(|_| String::from_utf8_lossy(value), Cow::Borrowed);
        match field {
            b"event" => value.as_ref().clone_into(&mut self.kind),
            b"data" => self.append(&value)?,
            _ => {}
        }
        Ok(())
    }

    fn append(&mut self, value: &str) -> Result<(), TooLong> {
        let held = self.data.as_ref().map_or(0, |data| data.len() + 1);
        if held.saturating_add(value.len()) > self.limits.event {
            return Err(TooLong);
        }
        match &mut self.data {
            None => self.data = Some(value.to_owned()),
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
        }
        Ok(())
    }

    fn dispatch(&mut self, sink: &mut impl FnMut(Event)) {
        let kind = std::mem::take(&mut self.kind);
        if let Some(data) = self.data.take() {
            let kind = if kind.is_empty() { "message".to_owned() } else { kind };
            sink(Event { kind, data });
        }
    }
}

#[cfg(test)]
mod tests;
