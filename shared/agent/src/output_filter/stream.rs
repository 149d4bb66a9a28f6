//! The filter for a text that is still being written, or that is complete.
//!
//! Each character is scanned once for fences and, outside of fences, once for files. A possible bundle is scanned
//! before that and waits for the decision. If marks at the start of a line may open a fence, the search for files
//! waits for the decision. Text that waits, and text that may still belong to a file, is held back. Everything else
//! is final at once. So the cost is linear in the length of the text, however it is split.

use super::{
    blob::{Blob, FilteredText, extension},
    bundle::{self, Bundle, BundleStatus},
    fence::{Fences, LineKind},
    finder::{Finder, Match},
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
    /// A possible bundle, which starts at `fence_scanned`.
    bundle: Option<Bundle>,
    /// True if the last line so far is the closing fence of a bundle.
    after_bundle: bool,
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
    /// Takes the next piece and returns the text that is final now, with the files removed from it.
    pub fn push(&mut self, piece: &str, mut url_of: impl FnMut(&Blob) -> String) -> FilteredText {
        let mut out = FilteredText { text: String::new(), blobs: Vec::new() };
        self.take(piece, &mut out, &mut url_of);
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
            self.end_bundle_line(c, out);
            if self.bundle.is_none() && c == '{' && self.fences.begins_line() {
                self.bundle = Some(Bundle::default());
            }
            self.bundle_scanned += c.len_utf8();
            match self.bundle.as_mut().map(|bundle| bundle.take(c)) {
                None => self.scan_fences(c, out, url_of),
                Some(BundleStatus::Pending) => {}
                Some(BundleStatus::Complete) => self.finish_bundle(out, url_of),
                Some(BundleStatus::NotBundle) => self.release_bundle(out, url_of),
            }
        }
        self.emit_until(self.finder.held_from().unwrap_or(self.file_scanned), out);
        self.buffer.discard_until(self.final_len);
    }

    /// Ends the text, which makes all of it final.
    pub(super) fn end(&mut self, out: &mut FilteredText, url_of: &mut dyn FnMut(&Blob) -> String) {
        self.release_bundle(out, url_of);
        self.scan_files(self.fences.end(), out, url_of);
        if let Some(matched) = self.finder.end(self.file_scanned) {
            self.replace_with_link(&matched, out, url_of);
        }
        self.emit_until(self.fence_scanned, out);
    }

    /// Returns the length of the final text.
    pub(super) fn final_len(&self) -> usize {
        self.final_len
    }

    /// Scans the next character for fences.
    fn scan_fences(&mut self, c: char, out: &mut FilteredText, url_of: &mut dyn FnMut(&Blob) -> String) {
        self.fence_scanned += c.len_utf8();
        let line = self.fences.take(c);
        self.scan_files(line, out, url_of);
    }

    /// Continues with a possible bundle that isn't one, like any other text.
    fn release_bundle(&mut self, out: &mut FilteredText, url_of: &mut dyn FnMut(&Blob) -> String) {
        self.bundle = None;
        while self.fence_scanned < self.bundle_scanned
            && let Some(c) = self.buffer.char(self.fence_scanned)
        {
            self.scan_fences(c, out, url_of);
        }
    }

    /// Fences a complete object if it is a bundle.
    fn finish_bundle(&mut self, out: &mut FilteredText, url_of: &mut dyn FnMut(&Blob) -> String) {
        let Some(fenced) =
            bundle::fence_if_bundle(self.buffer.slice(self.fence_scanned..self.bundle_scanned))
        else {
            return self.release_bundle(out, url_of);
        };
        self.bundle = None;
        // The line before may have ended a file.
        self.scan_files(LineKind::Fenced, out, url_of);
        self.emit_until(self.fence_scanned, out);
        self.flush_separator(out);
        fenced.chars().for_each(|c| _ = self.fences.take(c));
        out.text.push_str(&fenced);
        (self.fence_scanned, self.file_scanned, self.final_len) =
            (self.bundle_scanned, self.bundle_scanned, self.bundle_scanned);
        self.after_bundle = true;
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

    /// Searches the scanned text for files, or skips it within a fence.
    fn scan_files(
        &mut self,
        line: LineKind,
        out: &mut FilteredText,
        url_of: &mut dyn FnMut(&Blob) -> String,
    ) {
        match line {
            LineKind::Undecided => {}
            LineKind::Fenced => {
                if let Some(matched) = self.finder.end(self.file_scanned) {
                    self.replace_with_link(&matched, out, url_of);
                }
                self.file_scanned = self.fence_scanned;
            }
            LineKind::Unfenced => {
                while self.file_scanned < self.fence_scanned
                    && let Some(c) = self.buffer.char(self.file_scanned)
                {
                    if let Some(matched) = self.finder.take(c, self.file_scanned) {
                        self.replace_with_link(&matched, out, url_of);
                    }
                    self.file_scanned += c.len_utf8();
                }
            }
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
