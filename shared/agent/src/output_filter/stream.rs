//! The filter for a text that is still being written, or that is complete.
//!
//! Each character is scanned once for blocks and once for files. An object that may be a bundle waits for the decision;
//! in a fence that has the right tag already, only its files wait. Text that waits, and text that may still belong to
//! a file, is held back. Everything else is final at once. So the cost is linear in the length of the text, however it
//! is split.

use std::ops::Range;

use super::{
    AnswerFormat,
    blob::{Blob, FilteredText, extension},
    bundle::{self, BundleStatus},
    embedded_file::Match,
    fence::{Fences, Part},
    finder::Finder,
    object::{JSON_TAG, Location, Object, TextLocation},
    payload,
    pending_buffer::PendingBuffer,
    preceding_text::LinkStyle,
};

/// A filter for a text that is still being written. The texts that [`push`](Self::push) returns, joined, are a prefix
/// of what [`filter_text`](super::filter_text) returns for the complete text.
#[derive(Debug, Default)]
pub struct StreamFilter {
    pub(super) buffer: PendingBuffer,
    fences: Fences,
    finder: Finder,
    /// A possible bundle.
    object: Option<Object>,
    /// The first mark and the tag of the open fence, until its content begins.
    opening: Option<(usize, Range<usize>)>,
    /// Files in the first line of a fence. They become links when it is decided whether the fence gets another tag.
    opening_files: Vec<Match>,
    /// The prefix of the next line, if the last line so far is the closing fence of a bundle.
    after_bundle: Option<String>,
    format: AnswerFormat,
    /// Position of the first character that isn't blank.
    begins: Option<usize>,
    /// True once the filter put the text into a fence.
    is_wrapped: bool,
    /// Text to insert before the next final text.
    separator: String,
    /// End of the scanned text.
    scanned: usize,
    /// End of the final text.
    final_len: usize,
    /// Number of files embedded in the final text.
    blob_count: usize,
}

/// The filtered text, and the URLs of its files.
pub(super) struct Output<'a> {
    pub(super) text: &'a mut FilteredText,
    pub(super) url_of: &'a mut dyn FnMut(&Blob) -> String,
}

impl StreamFilter {
    /// Creates a filter for an answer in a format.
    #[must_use]
    pub fn new(format: AnswerFormat) -> Self {
        Self { format, ..Self::default() }
    }

    /// Takes the next piece and returns the text that is final now, with the files removed from it.
    pub fn push(&mut self, piece: &str, mut url_of: impl FnMut(&Blob) -> String) -> FilteredText {
        let mut text = FilteredText { text: String::new(), blobs: Vec::new() };
        self.take(piece, &mut Output { text: &mut text, url_of: &mut url_of });
        text
    }

    /// Ends the text, and returns the rest of it.
    pub fn finish(&mut self, mut url_of: impl FnMut(&Blob) -> String) -> FilteredText {
        let mut text = FilteredText { text: String::new(), blobs: Vec::new() };
        self.end(&mut Output { text: &mut text, url_of: &mut url_of });
        text
    }

    /// Takes the next piece and appends the text that is final now to `out`.
    pub(super) fn take(&mut self, piece: &str, out: &mut Output<'_>) {
        self.buffer.push(piece);
        while let Some(c) = self.buffer.char(self.scanned) {
            if !self.begin(c, out) {
                self.scan(c, out);
            }
        }
        let opening = self.opening.as_ref().map(|(_, tag)| tag.start);
        let object = self.object.as_ref().and_then(Object::held_from);
        let held = [self.finder.held_from(), self.fences.held_from(), opening, object];
        self.emit_until(held.into_iter().flatten().fold(self.scanned, usize::min), out);
        self.buffer.discard_until(self.final_len);
    }

    /// Ends the text, which makes all of it final.
    pub(super) fn end(&mut self, out: &mut Output<'_>) {
        if let Some(matched) = self.finder.end(self.scanned) {
            self.take_match(matched, out);
        }
        self.release_object(out);
        self.release_opening_files(0, out);
        self.emit_until(self.scanned, out);
        if self.is_wrapped && self.fences.ends_open() {
            out.text.text.push_str("\n```");
        }
    }

    /// Returns the length of the final text.
    pub(super) fn final_len(&self) -> usize {
        self.final_len
    }

    /// Takes a character before the text begins: a byte order mark, or a blank before an answer in JSON. Both are
    /// dropped. An answer in JSON begins with a fence.
    fn begin(&mut self, c: char, out: &mut Output<'_>) -> bool {
        if self.begins.is_some() {
            return false;
        }
        let is_json = self.format == AnswerFormat::Json;
        if c == '\u{feff}' && self.scanned == 0 || is_json && c.is_whitespace() {
            self.scanned += c.len_utf8();
            self.final_len = self.scanned;
            return true;
        }
        if !c.is_whitespace() {
            self.begins = Some(self.scanned);
            if is_json && matches!(c, '{' | '[') {
                out.text.text.push_str(&format!("```{JSON_TAG}\n"));
                self.is_wrapped = true;
                self.fences = Fences::within_fence();
                self.opening = Some((self.scanned, self.scanned..self.scanned));
            }
        }
        false
    }

    /// Scans the next character for files and blocks.
    fn scan(&mut self, c: char, out: &mut Output<'_>) {
        self.end_bundle_line(c, out);
        let at = self.scanned;
        self.scanned += c.len_utf8();
        if let Some(matched) = self.finder.take(c, at) {
            self.take_match(matched, out);
        }
        let was_open = self.fences.is_open();
        let part = self.fences.take(c, at);
        let is_open = self.fences.is_open();
        if was_open && !is_open {
            self.opening = None;
            self.release_fenced_object(out);
            self.release_opening_files(0, out);
        }
        if let Part::Content { marker, is_first } = part {
            self.take_content(c, at, marker, is_first, out);
        }
        if is_open && !was_open {
            // JSON has no line that opens a fence.
            self.release_object(out);
            self.opening = self.fences.opening();
        }
        let is_tag_open =
            self.opening.is_some() || self.object.is_some() || self.fences.opening_tag_start().is_some();
        if !is_tag_open {
            self.release_opening_files(0, out);
        }
    }

    /// Takes a character of a text or of a fence's content.
    fn take_content(&mut self, c: char, at: usize, marker: usize, is_first: bool, out: &mut Output<'_>) {
        if let Some(object) = &mut self.object {
            if is_first {
                let start = self.fences.line_start();
                object.push_blanks(self.buffer.slice(start..at.saturating_sub(marker)));
            }
            let marks = self.buffer.slice(at - marker..at).to_owned();
            for c in marks.chars().chain([c]) {
                if !self.take_object(c, out) {
                    break;
                }
            }
        }
        if self.object.is_some() {
            return;
        }
        if self.fences.is_open() {
            if !c.is_whitespace()
                && let Some((mark, tag)) = self.opening.take()
            {
                self.begin_fence(c, mark, tag, out);
            }
        } else if c == '{' && !self.finder.is_in_uri() {
            self.begin_text_object(at, is_first && marker == 0);
        }
    }

    /// Begins the content of a fence.
    fn begin_fence(&mut self, c: char, mark: usize, tag: Range<usize>, out: &mut Output<'_>) {
        let name = self.buffer.slice(tag.clone());
        let tag_end = tag.end;
        let mut tag = (![JSON_TAG, bundle::TAG].iter().any(|known| name.eq_ignore_ascii_case(known))
            && !self.is_wrapped)
            .then_some(tag);
        let is_answer = |tag: &mut Range<usize>| tag.start == tag.end || self.begins == Some(mark);
        if self.format == AnswerFormat::Json
            && matches!(c, '{' | '[')
            && let Some(tag) = tag.take_if(is_answer)
        {
            self.replace(tag, JSON_TAG, out);
            self.release_opening_files(tag_end, out);
        }
        if c != '{' || tag.is_none() {
            self.release_opening_files(0, out);
        }
        if c == '{' {
            self.object = Some(Object::new(Location::Fence { tag }));
            self.take_object(c, out);
        }
    }

    /// Begins an object outside of fences.
    fn begin_text_object(&mut self, at: usize, starts_line: bool) {
        let from = if starts_line { self.fences.line_start() } else { at };
        let location = TextLocation {
            from,
            held_from: self.finder.word_start().unwrap_or(from).min(from),
            starts_line,
            indent: at - from,
            continuation: self.fences.continuation(),
        };
        let mut object = Object::new(Location::Text(location));
        object.take('{');
        self.object = Some(object);
    }

    /// Takes the next character of an object. Returns false if it is over.
    fn take_object(&mut self, c: char, out: &mut Output<'_>) -> bool {
        match self.object.as_mut().map(|object| object.take(c)) {
            None => return false,
            Some(BundleStatus::Pending) => return true,
            Some(BundleStatus::Complete) => self.finish_object(out),
            Some(BundleStatus::NotBundle) => self.release_object(out),
        }
        false
    }

    /// Puts a complete object into a fence if it is a bundle, or tags its fence.
    fn finish_object(&mut self, out: &mut Output<'_>) {
        let is_json_wanted = self.format == AnswerFormat::Json;
        let Some(object) = self.object.take() else { return };
        let Some(tag) = object.tag(is_json_wanted) else { return self.release(object, out) };
        match object.location {
            Location::Fence { tag: None } => {}
            Location::Fence { tag: Some(range) } => {
                let tag_end = range.end;
                self.replace(range, tag, out);
                self.release_opening_files(tag_end, out);
            }
            Location::Text(location) => {
                let (containers, prefix) = location.continuation;
                self.emit_until(location.from, out);
                self.insert_separator(out);
                if !location.starts_line {
                    out.text.text.extend(["\n", &prefix]);
                }
                out.text.text.push_str(&bundle::fenced(tag, &object.text, &prefix, location.indent));
                self.final_len = self.scanned;
                self.fences.end_block(containers);
                self.after_bundle = Some(prefix);
            }
        }
    }

    /// Replaces the files of an object that isn't a bundle.
    fn release_object(&mut self, out: &mut Output<'_>) {
        if let Some(object) = self.object.take() {
            self.release(object, out);
        }
    }

    fn release(&mut self, object: Object, out: &mut Output<'_>) {
        if matches!(object.location, Location::Fence { .. }) {
            self.release_opening_files(0, out);
        }
        object.matches.iter().for_each(|matched| self.replace_with_link(matched, out));
    }

    /// Replaces the files in the first line of a fence. Those before `from` were in the tag, which is replaced already.
    fn release_opening_files(&mut self, from: usize, out: &mut Output<'_>) {
        for file in std::mem::take(&mut self.opening_files) {
            if file.range.start >= from {
                self.replace_with_link(&file, out);
            }
        }
    }

    /// Ends an object whose fence ends.
    fn release_fenced_object(&mut self, out: &mut Output<'_>) {
        let is_fenced = |object: &mut Object| matches!(object.location, Location::Fence { .. });
        if let Some(object) = self.object.take_if(is_fenced) {
            self.release(object, out);
        }
    }

    /// Starts a new line after a bundle's closing fence, which must be alone on its line.
    fn end_bundle_line(&mut self, next: char, out: &mut Output<'_>) {
        if matches!(next, ' ' | '\t' | '\r') {
            return;
        }
        if let Some(prefix) = self.after_bundle.take()
            && next != '\n'
        {
            self.emit_until(self.scanned, out);
            self.fences.continue_line(self.scanned);
            self.separator = format!("\n{prefix}");
        }
    }

    /// Replaces a file, or keeps it in mind while it may belong to a bundle.
    fn take_match(&mut self, matched: Match, out: &mut Output<'_>) {
        if self.is_in_opening(&matched) {
            self.opening_files.push(matched);
        } else if let Some(object) = &mut self.object {
            object.matches.push(matched);
        } else {
            self.replace_with_link(&matched, out);
        }
    }

    /// True for a file in the first line of a fence that may get another tag.
    fn is_in_opening(&self, file: &Match) -> bool {
        let tag = self.opening.as_ref().map(|(_, tag)| tag.start).or_else(|| self.fences.opening_tag_start());
        tag.is_some_and(|start| file.range.start >= start)
    }

    /// Replaces a file with a link.
    fn replace_with_link(&mut self, matched: &Match, out: &mut Output<'_>) {
        let range = matched.replaced_range();
        self.emit_until(range.start, out);
        self.insert_separator(out);
        let text = self.buffer.slice(matched.range.clone());
        let (mime_type, bytes) = if matched.is_uri { payload::of_uri(text) } else { payload::of_run(text) };
        self.blob_count += 1;
        let name = format!("embedded-{}.{}", self.blob_count, extension(&mime_type));
        let blob = Blob { name, mime_type, bytes };
        let url = (out.url_of)(&blob);
        match matched.style {
            LinkStyle::Url => out.text.text.push_str(&url),
            _ => out.text.text.push_str(&format!("[{}]({url})", blob.name)),
        }
        out.text.blobs.push(blob);
        self.final_len = range.end;
        if matched.needs_space {
            self.separator.push(' ');
        }
    }

    /// Replaces a range of the text.
    fn replace(&mut self, range: Range<usize>, text: &str, out: &mut Output<'_>) {
        self.emit_until(range.start, out);
        self.insert_separator(out);
        out.text.text.push_str(text);
        self.final_len = range.end;
    }

    /// Emits the text up to here as final.
    fn emit_until(&mut self, until: usize, out: &mut Output<'_>) {
        if until > self.final_len {
            self.insert_separator(out);
            out.text.text.push_str(self.buffer.slice(self.final_len..until));
            self.final_len = until;
        }
    }

    fn insert_separator(&mut self, out: &mut Output<'_>) {
        out.text.text.push_str(&std::mem::take(&mut self.separator));
    }
}
