//! The filter for a text that is still being written, or that is complete.
//!
//! Each character is scanned once for fences and, outside of bundles, once for files. A possible bundle is scanned
//! before that and waits for the decision; in a fence tagged as JSON, only its files wait. If marks at the start of a
//! line may open a fence, the search for files waits for the decision. Text that waits, and text that may still belong
//! to a file, is held back. Everything else is final at once. So the cost is linear in the length of the text, however
//! it is split.

use super::{
    AnswerFormat,
    blob::{Blob, FilteredText, extension},
    bundle::{self, Bundle, BundleStatus},
    fence::{Fences, LineKind},
    fenced_object::FencedObject,
    finder::{Finder, Match},
    payload,
    pending_buffer::PendingBuffer,
    preceding_text::LinkStyle,
};

/// The tag of a fence around JSON.
const JSON_TAG: &str = "json";

/// A filter for a text that is still being written. The texts that [`push`](Self::push) returns, joined, are a prefix
/// of what [`filter_text`](super::filter_text) returns for the complete text.
#[derive(Debug, Default)]
pub struct StreamFilter {
    pub(super) buffer: PendingBuffer,
    fences: Fences,
    finder: Finder,
    /// A possible bundle, which starts at `fence_scanned`.
    bundle: Option<Bundle>,
    /// True if the last line so far is the closing fence of a bundle.
    after_bundle: bool,
    /// End of the last marks that may open a fence.
    marks_end: usize,
    /// The place for a tag, within an untagged fence whose content begins next.
    tag_place: Option<usize>,
    /// The content of the open fence, if that is tagged as JSON and it is undecided whether it is a bundle.
    fenced_object: Option<FencedObject>,
    /// True within a fence that holds a bundle.
    in_bundle: bool,
    format: AnswerFormat,
    /// True once the filter put the text into a fence.
    is_wrapped: bool,
    /// A blank or line break to insert before the next final text.
    pending_separator: Option<char>,
    /// End of the text scanned for bundles.
    bundle_scanned: usize,
    /// End of the text scanned for fences.
    fence_scanned: usize,
    /// End of the text scanned for files.
    file_scanned: usize,
    /// End of the final text.
    final_len: usize,
    /// Number of files embedded in the final text.
    blob_count: usize,
}

impl StreamFilter {
    /// Creates a filter for an answer in a format.
    #[must_use]
    pub fn new(format: AnswerFormat) -> Self {
        Self { format, ..Self::default() }
    }

    /// Takes the next piece and returns the text that is final now, with the files removed from it.
    pub fn push(&mut self, piece: &str, mut url_of: impl FnMut(&Blob) -> String) -> FilteredText {
        let mut out = FilteredText { text: String::new(), blobs: Vec::new() };
        self.take(piece, &mut out, &mut url_of);
        out
    }

    /// Ends the text, and returns the rest of it.
    pub fn finish(&mut self, mut url_of: impl FnMut(&Blob) -> String) -> FilteredText {
        let mut out = FilteredText { text: String::new(), blobs: Vec::new() };
        self.end(&mut out, &mut url_of);
        out
    }

    /// Takes the next piece and appends the text that is final now to `out`.
    pub(super) fn take(
        &mut self,
        piece: &str,
        out: &mut FilteredText,
        url_of: &mut dyn FnMut(&Blob) -> String,
    ) {
        self.buffer.push(piece);
        while let Some(c) = self.buffer.char(self.bundle_scanned) {
            if self.format == AnswerFormat::Json && self.begin_json(c, out) {
                continue;
            }
            self.end_bundle_line(c, out);
            if self.bundle.is_none() {
                self.begin_bundle(c);
            }
            self.bundle_scanned += c.len_utf8();
            match self.bundle.as_mut().map(|bundle| bundle.take(c)) {
                None => self.scan_fences(c, out, url_of),
                Some(BundleStatus::Pending) => {}
                Some(BundleStatus::Complete) => self.finish_bundle(out, url_of),
                Some(BundleStatus::NotBundle) => self.release_bundle(out, url_of),
            }
        }
        let deferred = self.fenced_object.as_ref().and_then(|object| object.matches.first());
        let held =
            [self.finder.held_from(), self.tag_place, deferred.map(|file| file.replaced_range().start)];
        self.emit_until(held.into_iter().flatten().fold(self.file_scanned, usize::min), out);
        self.buffer.discard_until(self.final_len);
    }

    /// Ends the text, which makes all of it final.
    pub(super) fn end(&mut self, out: &mut FilteredText, url_of: &mut dyn FnMut(&Blob) -> String) {
        self.release_bundle(out, url_of);
        self.scan_files(self.fences.end(), out, url_of);
        if let Some(matched) = self.finder.end(self.file_scanned) {
            self.take_match(matched, out, url_of);
        }
        self.release_files(out, url_of);
        self.emit_until(self.fence_scanned, out);
        if self.is_wrapped && self.fences.ends_open() {
            out.text.push_str("\n```");
        }
    }

    /// Begins an answer in JSON with a fence. Blanks before it are dropped. Returns true if it took the character.
    fn begin_json(&mut self, c: char, out: &mut FilteredText) -> bool {
        if c.is_whitespace() {
            self.bundle_scanned += c.len_utf8();
            let at = self.bundle_scanned;
            (self.fence_scanned, self.file_scanned, self.final_len) = (at, at, at);
            return true;
        }
        self.format = AnswerFormat::Markdown;
        if matches!(c, '{' | '[') {
            self.is_wrapped = true;
            let opening = format!("```{JSON_TAG}\n");
            opening.chars().for_each(|c| _ = self.fences.take(c));
            out.text.push_str(&opening);
            self.fenced_object = Some(FencedObject::default());
        }
        false
    }

    /// Begins a possible bundle at a brace: at the start of a line, or of an untagged fence's content.
    fn begin_bundle(&mut self, c: char) {
        let begins_content = self.tag_place.is_some();
        if c == '{' && (begins_content || self.fences.begins_line()) {
            self.bundle = Some(Bundle::default());
        } else if !c.is_whitespace() {
            self.tag_place = None;
        }
    }

    /// Returns the length of the final text.
    pub(super) fn final_len(&self) -> usize {
        self.final_len
    }

    /// Scans the next character for fences.
    fn scan_fences(&mut self, c: char, out: &mut FilteredText, url_of: &mut dyn FnMut(&Blob) -> String) {
        self.fence_scanned += c.len_utf8();
        let was_open = self.fences.tag().is_some();
        let line = self.fences.take(c);
        let is_open = self.fences.tag().is_some();
        if self.fences.is_in_opening_marks() {
            self.marks_end = self.fence_scanned;
        }
        if !is_open && line != LineKind::Fenced {
            self.leave_fence(out, url_of);
        }
        self.scan_files(line, out, url_of);
        match (was_open, is_open) {
            (false, true) => self.enter_fence(),
            (true, true) => self.scan_fenced_object(c, out, url_of),
            (_, false) => self.leave_fence(out, url_of),
        }
    }

    /// Begins the content of a fence.
    fn enter_fence(&mut self) {
        let tag = self.fences.tag().unwrap_or_default();
        let is_plain = self.fences.is_open_outside_quotes();
        self.in_bundle = tag.eq_ignore_ascii_case(bundle::TAG);
        self.tag_place = (is_plain && tag.is_empty()).then_some(self.marks_end);
        self.fenced_object = (is_plain && tag.eq_ignore_ascii_case(JSON_TAG)).then(FencedObject::default);
    }

    fn leave_fence(&mut self, out: &mut FilteredText, url_of: &mut dyn FnMut(&Blob) -> String) {
        self.in_bundle = false;
        self.tag_place = None;
        self.release_files(out, url_of);
    }

    /// Scans the content of a fence tagged as JSON until it is decided whether it is a bundle.
    fn scan_fenced_object(
        &mut self,
        c: char,
        out: &mut FilteredText,
        url_of: &mut dyn FnMut(&Blob) -> String,
    ) {
        match self.fenced_object.as_mut().and_then(|object| object.take(c)) {
            None => {}
            Some(true) => {
                self.fenced_object = None;
                self.in_bundle = true;
            }
            Some(false) => self.release_files(out, url_of),
        }
    }

    /// Replaces the files of a fence that doesn't hold a bundle.
    fn release_files(&mut self, out: &mut FilteredText, url_of: &mut dyn FnMut(&Blob) -> String) {
        let matches = self.fenced_object.take().map(|object| object.matches).unwrap_or_default();
        matches.iter().for_each(|matched| self.replace_with_link(matched, out, url_of));
    }

    /// Continues with a possible bundle that isn't one, like any other text.
    fn release_bundle(&mut self, out: &mut FilteredText, url_of: &mut dyn FnMut(&Blob) -> String) {
        self.bundle = None;
        self.tag_place = None;
        while self.fence_scanned < self.bundle_scanned
            && let Some(c) = self.buffer.char(self.fence_scanned)
        {
            self.scan_fences(c, out, url_of);
        }
    }

    /// Fences a complete object if it is a bundle, or tags its fence.
    fn finish_bundle(&mut self, out: &mut FilteredText, url_of: &mut dyn FnMut(&Blob) -> String) {
        let object = self.buffer.slice(self.fence_scanned..self.bundle_scanned);
        if !bundle::is_bundle(object) {
            return self.release_bundle(out, url_of);
        }
        let is_fenced = self.tag_place.is_some();
        let text = if is_fenced { object.to_owned() } else { bundle::fenced(object) };
        self.bundle = None;
        // The line before may have ended a file.
        self.skip_files(out, url_of);
        if let Some(place) = self.tag_place.take() {
            self.emit_until(place, out);
            out.text.push_str(bundle::TAG);
        }
        self.emit_until(self.fence_scanned, out);
        self.flush_separator(out);
        text.chars().for_each(|c| _ = self.fences.take(c));
        out.text.push_str(&text);
        (self.fence_scanned, self.file_scanned, self.final_len) =
            (self.bundle_scanned, self.bundle_scanned, self.bundle_scanned);
        self.in_bundle = is_fenced;
        self.after_bundle = !is_fenced;
    }

    /// Starts a new line after a bundle's closing fence, which must be alone on its line.
    fn end_bundle_line(&mut self, next: char, out: &mut FilteredText) {
        if self.after_bundle && !matches!(next, ' ' | '\t' | '\r' | '\n') {
            self.emit_until(self.fence_scanned, out);
            self.fences.take('\n');
            self.pending_separator = Some('\n');
        }
        self.after_bundle &= matches!(next, ' ' | '\t' | '\r');
    }

    fn flush_separator(&mut self, out: &mut FilteredText) {
        out.text.extend(self.pending_separator.take());
    }

    /// Searches the scanned text for files, or skips it within a bundle.
    fn scan_files(
        &mut self,
        line: LineKind,
        out: &mut FilteredText,
        url_of: &mut dyn FnMut(&Blob) -> String,
    ) {
        match line {
            LineKind::Undecided => {}
            LineKind::Fenced if self.in_bundle => self.skip_files(out, url_of),
            LineKind::Fenced | LineKind::Unfenced => {
                while self.file_scanned < self.fence_scanned
                    && let Some(c) = self.buffer.char(self.file_scanned)
                {
                    if let Some(matched) = self.finder.take(c, self.file_scanned) {
                        self.take_match(matched, out, url_of);
                    }
                    self.file_scanned += c.len_utf8();
                }
            }
        }
    }

    /// Ends the search at the scanned text, which belongs to a bundle.
    fn skip_files(&mut self, out: &mut FilteredText, url_of: &mut dyn FnMut(&Blob) -> String) {
        if let Some(matched) = self.finder.end(self.file_scanned) {
            self.take_match(matched, out, url_of);
        }
        self.file_scanned = self.fence_scanned;
    }

    /// Replaces a file, or keeps it in mind while its fence may hold a bundle.
    fn take_match(
        &mut self,
        matched: Match,
        out: &mut FilteredText,
        url_of: &mut dyn FnMut(&Blob) -> String,
    ) {
        match &mut self.fenced_object {
            Some(object) => object.matches.push(matched),
            None => self.replace_with_link(&matched, out, url_of),
        }
    }

    /// Replaces a file with a link.
    fn replace_with_link(
        &mut self,
        matched: &Match,
        out: &mut FilteredText,
        url_of: &mut dyn FnMut(&Blob) -> String,
    ) {
        let range = matched.replaced_range();
        self.emit_until(range.start, out);
        self.flush_separator(out);
        let text = self.buffer.slice(matched.range.clone());
        let (mime_type, bytes) = if matched.is_uri { payload::of_uri(text) } else { payload::of_run(text) };
        self.blob_count += 1;
        let name = format!("embedded-{}.{}", self.blob_count, extension(&mime_type));
        let blob = Blob { name, mime_type, bytes };
        let url = url_of(&blob);
        match matched.style {
            LinkStyle::Url => out.text.push_str(&url),
            _ => out.text.push_str(&format!("[{}]({url})", blob.name)),
        }
        out.blobs.push(blob);
        self.final_len = range.end;
        self.pending_separator = matched.needs_space.then_some(' ');
    }

    /// Emits the text up to here as final.
    fn emit_until(&mut self, until: usize, out: &mut FilteredText) {
        if until > self.final_len {
            self.flush_separator(out);
            out.text.push_str(self.buffer.slice(self.final_len..until));
            self.final_len = until;
        }
    }
}
