//! Finds files embedded in a text: `data:` URIs and runs of base64.
//!
//! The finder takes each character once. It carries the few characters before the current one, which identify a
//! scheme or a link's destination; the run or URI in progress; and possible starts of URIs, which become URIs if a
//! comma follows soon. A possible URI and a run may be read side by side: the run can't become long enough before
//! the URI is decided.

use std::collections::VecDeque;

use super::{
    embedded_file::{MIN_EMBEDDED_CHARS, Match, Start, is_run_byte},
    preceding_text::{LinkStyle, PrecedingText},
    run::{Run, RunStep},
};

/// Maximum length of a `data:` URI's header, including its comma.
const MAX_URI_HEADER: usize = 256;

const SCHEME: &str = "data:";

/// Reads a text for embedded files.
#[derive(Debug, Default)]
pub(super) struct Finder {
    preceding: PrecedingText,
    /// True if the line has more than a prefix before the next character.
    has_text: bool,
    /// Start of the text held back for a `<` that was just read.
    angle_start: usize,
    /// Start of the word that the last character separated from a run. It is held back with that character.
    word_start: Option<usize>,
    /// Possible starts of URIs, which count if a comma follows within [`MAX_URI_HEADER`].
    uri_starts: VecDeque<Start>,
    scan: Scan,
}

#[allow(clippy::large_enum_variant, reason = "most text is a run in progress")]
#[derive(Debug, Default)]
enum Scan {
    #[default]
    Idle,
    Run(Run),
    Uri(Uri),
}

impl Finder {
    /// Returns the start of the text that may still turn out to be embedded, if any.
    pub(super) fn held_from(&self) -> Option<usize> {
        let scan = match &self.scan {
            Scan::Idle => {
                (self.preceding.link_style() == LinkStyle::AngleBracket).then_some(self.angle_start)
            }
            Scan::Run(run) => Some(run.held_from()),
            Scan::Uri(uri) => Some(uri.start.held_from),
        };
        self.uri_starts.front().map(|head| head.held_from).into_iter().chain(scan).min()
    }

    /// Returns the start of the word that the last character separated from a run.
    pub(super) fn word_start(&self) -> Option<usize> {
        self.word_start
    }

    /// True within a URI.
    pub(super) fn is_in_uri(&self) -> bool {
        matches!(self.scan, Scan::Uri(_))
    }

    /// Takes the next character and returns the file that ended before it, if any.
    pub(super) fn take(&mut self, c: char, at: usize) -> Option<Match> {
        // All non-ASCII characters are treated alike.
        let byte = u8::try_from(c).ok().filter(u8::is_ascii).unwrap_or(u8::MAX);
        if !byte.is_ascii_graphic() || b"()<>`".contains(&byte) {
            self.uri_starts.clear();
        }
        while self.uri_starts.front().is_some_and(|head| at >= head.at + SCHEME.len() + MAX_URI_HEADER) {
            self.uri_starts.pop_front();
        }
        self.word_start = None;
        let is_line_break = byte == b'\n' || self.is_escape(byte);
        let matched = self.scan_byte(byte, at);
        let is_text = byte.is_ascii_alphabetic() || byte == b'`' || !byte.is_ascii();
        self.has_text = !is_line_break && (self.has_text || is_text);
        self.preceding.push(byte);
        matched
    }

    /// Ends the text, or the part of it that may have files, and returns the file that ended with it, if any.
    pub(super) fn end(&mut self, at: usize) -> Option<Match> {
        match std::mem::take(self).scan {
            Scan::Idle => None,
            Scan::Run(run) => run.end(at),
            Scan::Uri(uri) => uri.finish(at, None),
        }
    }

    /// True for the letter of an escaped line break.
    fn is_escape(&self, byte: u8) -> bool {
        byte == b'n' && self.preceding.ends_with(b"\\")
    }

    fn scan_byte(&mut self, byte: u8, at: usize) -> Option<Match> {
        let (matched, word) = match &mut self.scan {
            Scan::Idle => (None, None),
            Scan::Run(run) => {
                if byte == b':' {
                    let start = run.word().and_then(|word| uri_start(&self.preceding, word, at));
                    self.uri_starts.extend(start);
                }
                let begins_uri = byte == b',' && !self.uri_starts.is_empty();
                match if begins_uri { run.separate(byte, at) } else { run.take(byte, at, &self.preceding) } {
                    RunStep::Continues(matched) => return matched,
                    RunStep::Ends(matched, word) => (matched, word),
                }
            }
            Scan::Uri(uri) => {
                if uri.accepts(byte) {
                    return None;
                }
                (uri.finish(at, Some(byte)), None)
            }
        };
        self.scan = Scan::Idle;
        self.word_start = word;
        self.start_scan(byte, at);
        matched
    }

    /// Starts the scan that this character begins.
    fn start_scan(&mut self, byte: u8, at: usize) {
        match byte {
            _ if self.is_escape(byte) => {}
            _ if is_run_byte(byte) => {
                let style = self.preceding.link_style();
                let held_from = if style == LinkStyle::AngleBracket { self.angle_start } else { at };
                let run = Run::new(Start { at, style, held_from }, byte, !self.has_text);
                self.scan = Scan::Run(run);
            }
            b',' => {
                if let Some(start) = self.uri_starts.pop_front() {
                    self.uri_starts.clear();
                    self.scan = Scan::Uri(Uri::new(start, self.preceding.ends_with(b";base64")));
                }
            }
            b'<' => self.angle_start = self.word_start.unwrap_or(at),
            _ => {}
        }
    }
}

/// Returns the start of the URI that the word's last letters and the colon after them may begin.
fn uri_start(preceding: &PrecedingText, word: Start, colon: usize) -> Option<Start> {
    let at = colon.checked_sub("data".len()).filter(|_| preceding.ends_with_data_scheme())?;
    let style = if word.at == at { word.style } else { LinkStyle::Inline };
    Some(Start { at, style, ..word })
}

/// A `data:` URI (RFC 2397) from its comma on.
#[derive(Debug)]
struct Uri {
    start: Start,
    is_base64: bool,
    /// Number of open parentheses.
    open: usize,
}

impl Uri {
    fn new(start: Start, is_base64: bool) -> Self {
        Self { start, is_base64, open: 0 }
    }

    /// Takes the next character. Returns false for one that ends a URI in Markdown or HTML, such as a closing
    /// parenthesis that matches no opening one.
    fn accepts(&mut self, byte: u8) -> bool {
        match byte {
            _ if self.is_base64 => is_run_byte(byte) || matches!(byte, b'=' | b'%'),
            b'(' => {
                self.open += 1;
                true
            }
            b')' => {
                let closes = self.open > 0;
                self.open = self.open.saturating_sub(1);
                closes
            }
            b'"' | b'<' | b'>' | b'`' => false,
            _ => byte.is_ascii_graphic(),
        }
    }

    fn finish(&self, at: usize, next: Option<u8>) -> Option<Match> {
        (at - self.start.at >= MIN_EMBEDDED_CHARS).then(|| Match::new(self.start, at, true, at, next))
    }
}
