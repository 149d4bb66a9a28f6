//! Decodes an event stream as specified by the WHATWG HTML standard, in chunks of any size.
//!
//! Written here for its limits. The established crates buffer a line or an event without a limit, and one with a limit
//! silently drops longer events. This adapter must fail instead: a missing event could be half an answer.
//!
//! Ignores `id` and `retry`, since the stream of a response can't be resumed. Doesn't interpret the data.

use std::borrow::Cow;

use memchr::memchr2;

/// The size limits of a line and of an event, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of a line, without its line ending.
    pub line: usize,
    /// The most bytes of the data of an event.
    pub event: usize,
}

impl Default for Limits {
    /// 8 MiB each, since the terminal event repeats the whole answer and the tools in one line.
    fn default() -> Self {
        Self { line: 8 << 20, event: 8 << 20 }
    }
}

/// An event with at least one `data` line, which may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The `event` field. `message` if absent.
    pub kind: String,
    /// The `data` lines, joined with LF.
    pub data: String,
}

/// A line or an event exceeds the limits. The stream can't be read further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a line or an event of the stream exceeds the size limit")]
pub struct TooLong;

/// The decoder of a stream.
#[derive(Debug)]
pub struct Decoder {
    limits: Limits,
    /// The start of an unfinished line.
    line: Vec<u8>,
    /// Set if the last chunk ended with CR. A following LF belongs to it.
    after_cr: bool,
    /// Set until the first line is read, which alone may start with a byte order mark.
    first_line: bool,
    kind: String,
    data: Option<String>,
}

impl Decoder {
    /// Creates a decoder for a new stream.
    pub fn new(limits: Limits) -> Self {
        Self { limits, line: Vec::new(), after_cr: false, first_line: true, kind: String::new(), data: None }
    }

    /// Reads a chunk and passes each completed event to `sink`. An event that is unfinished at the end of the stream is
    /// never emitted.
    ///
    /// # Errors
    ///
    /// [`TooLong`], after passing on the events before it.
    pub fn push(&mut self, mut chunk: &[u8], sink: &mut impl FnMut(Event)) -> Result<(), TooLong> {
        while let Some(first) = chunk.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                chunk = chunk.get(1..).unwrap_or_default();
                continue;
            }
            let end = memchr2(b'\r', b'\n', chunk);
            let (part, rest) = chunk.split_at_checked(end.unwrap_or(chunk.len())).ok_or(TooLong)?;
            if self.line.len().saturating_add(part.len()) > self.limits.line {
                return Err(TooLong);
            }
            self.line.extend_from_slice(part);
            let Some((end, rest)) = rest.split_first() else {
                return Ok(());
            };
            self.after_cr = *end == b'\r';
            chunk = rest;
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
        // No byte of a multi-byte UTF-8 sequence looks like a line ending, so decoding line by line equals decoding the
        // whole stream.
        let value = str::from_utf8(value).map_or_else(|_| String::from_utf8_lossy(value), Cow::Borrowed);
        match field {
            b"event" => value.as_ref().clone_into(&mut self.kind),
            b"data" => self.append(&value)?,
            _ => {}
        }
        Ok(())
    }

    fn append(&mut self, value: &str) -> Result<(), TooLong> {
        let length = self.data.as_ref().map_or(0, |data| data.len() + 1);
        if length.saturating_add(value.len()) > self.limits.event {
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
