//! Decodes an event stream as specified by the WHATWG HTML standard, in chunks of any size.
//!
//! Written here for its limits. The established crates buffer a line or an event without a limit, and one with a limit
//! silently drops longer events. Here the start of a longer event is passed on: its reader knows whether it needs the rest,
//! since a missing event could be half an answer.
//!
//! Departs from the standard where servers do: JSON documents that one line end separates are an event each.
//!
//! Ignores `id` and `retry`, since the stream of a response can't be resumed. Doesn't interpret the data otherwise.

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
    /// The `data` lines, joined with LF. Only their start, if a line or the event exceeds the limits.
    pub data: String,
}

/// The decoder of a stream.
#[derive(Debug)]
pub struct Decoder {
    limits: Limits,
    /// The start of an unfinished line, up to its limit.
    line: Vec<u8>,
    /// Set if the last chunk ended with CR. A following LF belongs to it.
    after_cr: bool,
    /// Set until the first line is read, which alone may start with a byte order mark.
    first_line: bool,
    kind: String,
    data: Option<String>,
    /// The `event` field after the data. It is the next event's if more data follows.
    next_kind: Option<String>,
}

impl Decoder {
    /// Creates a decoder for a new stream.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            line: Vec::new(),
            after_cr: false,
            first_line: true,
            kind: String::new(),
            data: None,
            next_kind: None,
        }
    }

    /// Reads a chunk and passes each completed event to `sink`. An event that is unfinished at the end of the stream is
    /// never emitted.
    pub fn push(&mut self, mut chunk: &[u8], sink: &mut impl FnMut(Event)) {
        while let Some(first) = chunk.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                chunk = chunk.get(1..).unwrap_or_default();
                continue;
            }
            let end = memchr2(b'\r', b'\n', chunk).unwrap_or(chunk.len());
            let (part, rest) = chunk.split_at_checked(end).unwrap_or((chunk, b""));
            let room = self.limits.line.saturating_sub(self.line.len());
            self.line.extend_from_slice(part.get(..room).unwrap_or(part));
            let Some((end, rest)) = rest.split_first() else { return };
            self.after_cr = *end == b'\r';
            chunk = rest;
            let line = std::mem::take(&mut self.line);
            self.read_line(&line, sink);
            self.line = line;
            self.line.clear();
        }
    }

    fn read_line(&mut self, line: &[u8], sink: &mut impl FnMut(Event)) {
        let mut line = line;
        if std::mem::take(&mut self.first_line) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            self.kind = self.next_kind.take().unwrap_or_else(|| std::mem::take(&mut self.kind));
            return self.dispatch(sink);
        }
        let mut halves = line.splitn(2, |byte| *byte == b':');
        let field = halves.next().unwrap_or_default();
        let value = halves.next().unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        // No byte of a multi-byte UTF-8 sequence looks like a line ending, so decoding line by line equals decoding the
        // whole stream.
        let value = str::from_utf8(value).map_or_else(|_| String::from_utf8_lossy(value), Cow::Borrowed);
        match field {
            b"event" if self.data.is_some() => self.next_kind = Some(value.into_owned()),
            b"event" => value.as_ref().clone_into(&mut self.kind),
            b"data" => {
                if self.data.as_deref().is_some_and(|data| is_separate(data, &value)) {
                    let next_kind = self.next_kind.take();
                    self.dispatch(sink);
                    self.kind = next_kind.unwrap_or_default();
                }
                self.append(&value);
            }
            _ => {}
        }
    }

    fn append(&mut self, value: &str) {
        let data = match &mut self.data {
            None => self.data.insert(String::new()),
            Some(data) => {
                data.push('\n');
                data
            }
        };
        let room = self.limits.event.saturating_sub(data.len());
        data.push_str(value.get(..value.floor_char_boundary(room)).unwrap_or(value));
        data.truncate(data.floor_char_boundary(self.limits.event));
    }

    fn dispatch(&mut self, sink: &mut impl FnMut(Event)) {
        let kind = std::mem::take(&mut self.kind);
        if let Some(data) = self.data.take() {
            let kind = if kind.is_empty() { "message".to_owned() } else { kind };
            sink(Event { kind, data });
        }
    }
}

/// True if the next `data` line starts another event, although no blank line is between them: it starts a JSON object, or
/// is the last line of some APIs, and the data so far isn't the start of a document.
fn is_separate(data: &str, next: &str) -> bool {
    let data = data.trim();
    let starts_event = next.starts_with('{') || next.trim() == "[DONE]";
    let is_whole = data.ends_with('}') || !data.starts_with(['{', '[']);
    starts_event && is_whole && !data.is_empty()
}

#[cfg(test)]
mod tests;
