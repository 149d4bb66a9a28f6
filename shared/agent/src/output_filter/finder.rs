//! Finds files embedded in unfenced text: `data:` URIs and runs of base64.
//!
//! The finder takes each character once. It carries the few characters before the current one, which identify a
//! scheme or a link's destination; the run or URI in progress; and possible starts of URIs, which become URIs if a
//! comma follows soon. A possible URI and a run may be read side by side: the run can't become long enough before
//! the URI is decided. The short line that ends a wrapped run may turn out to be a separate word. It is then too
//! short to be a file, so nothing has to be read again.

use std::{collections::VecDeque, ops::Range};

use super::preceding_text::{LinkStyle, PrecedingText};

/// Minimum length of a run or a URI that counts as an embedded file, in characters.
pub const MIN_EMBEDDED_CHARS: usize = 512;

/// Minimum length of a line in a wrapped run. Words of prose are shorter.
const MIN_WRAPPED_CHARS: usize = 60;

/// Maximum length of a `data:` URI's header, including its comma.
const MAX_URI_HEADER: usize = 256;

const SCHEME: &str = "data:";

/// An embedded file and its position in the text.
#[derive(Debug)]
pub(super) struct Match {
    pub(super) range: Range<usize>,
    pub(super) is_uri: bool,
    pub(super) style: LinkStyle,
    /// True if a `>` follows.
    pub(super) is_followed_by_angle: bool,
    /// True if the next character would extend a URL put here: another run right after this one's padding.
    pub(super) needs_space: bool,
}

impl Match {
    /// Returns the range that the link replaces, including angle brackets around the file.
    pub(super) fn replaced_range(&self) -> Range<usize> {
        let Range { start, end } = self.range;
        if self.style == LinkStyle::AngleBracket && self.is_followed_by_angle {
            start.saturating_sub(1)..end + 1
        } else {
            start..end
        }
    }
}

/// Reads a text for embedded files.
#[derive(Debug, Default)]
pub(super) struct Finder {
    preceding: PrecedingText,
    /// Start of the text held back for a `<` that was just read.
    angle_start: usize,
    /// Possible starts of URIs, which count if a comma follows within [`MAX_URI_HEADER`].
    uri_starts: VecDeque<Start>,
    scan: Scan,
}

#[derive(Debug, Default)]
enum Scan {
    #[default]
    Idle,
    Run(Run),
    Uri(Uri),
}

/// A possible start of an embedded file.
#[derive(Debug, Clone, Copy)]
struct Start {
    at: usize,
    style: LinkStyle,
    /// Start of the text held back for it.
    held_from: usize,
}

impl Finder {
    /// Returns the start of the text that may still turn out to be embedded, if any.
    pub(super) fn held_from(&self) -> Option<usize> {
        let scan = match &self.scan {
            Scan::Idle => {
                (self.preceding.link_style() == LinkStyle::AngleBracket).then_some(self.angle_start)
            }
            Scan::Run(run) => Some(run.start.held_from),
            Scan::Uri(uri) => Some(uri.start.held_from),
        };
        self.uri_starts.front().map(|head| head.held_from).or(scan)
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
        let matched = self.scan_byte(byte, at);
        self.preceding.push(byte);
        matched
    }

    /// Ends the text, or the unfenced part of it, and returns the file that ended with it, if any.
    pub(super) fn end(&mut self, at: usize) -> Option<Match> {
        let ended = std::mem::take(self);
        match ended.scan {
            Scan::Idle => None,
            Scan::Run(mut run) => {
                run.absorb_tail(at);
                run.finish(at, None)
            }
            Scan::Uri(uri) => uri.finish(at, None),
        }
    }

    fn scan_byte(&mut self, byte: u8, at: usize) -> Option<Match> {
        let is_accepted = match &mut self.scan {
            Scan::Idle => false,
            Scan::Run(run) => run.accepts(byte, at),
            Scan::Uri(uri) => uri.accepts(byte),
        };
        if is_accepted {
            return None;
        }
        let (matched, word) = match std::mem::take(&mut self.scan) {
            Scan::Idle => (None, None),
            Scan::Run(run) => {
                let matched = run.finish(at, Some(byte));
                let itself = matched.is_none().then_some(run.start);
                (matched, run.rejected_tail().or(itself))
            }
            Scan::Uri(uri) => (uri.finish(at, Some(byte)), None),
        };
        self.start_scan(byte, at, word);
        matched
    }

    /// Starts the scan that this character begins. `word` is the run that it ended, if that was not a file.
    fn start_scan(&mut self, byte: u8, at: usize, word: Option<Start>) {
        match byte {
            _ if is_run_byte(byte) => {
                let style = self.preceding.link_style();
                let held_from = if style == LinkStyle::AngleBracket { self.angle_start } else { at };
                self.scan = Scan::Run(Run::new(Start { at, style, held_from }, byte));
            }
            b':' => self.uri_starts.extend(word.and_then(|word| self.uri_start(word, at))),
            b',' => {
                if let Some(start) = self.uri_starts.pop_front() {
                    self.uri_starts.clear();
                    self.scan = Scan::Uri(Uri::new(start, self.preceding.ends_with(b";base64")));
                }
            }
            b'<' => {
                // It decided that a word is not the end of a wrapped run, which also holds back the word.
                self.angle_start =
                    word.filter(|word| word.style == LinkStyle::LineStart).map_or(at, |word| word.at);
            }
            _ => {}
        }
    }

    /// Returns the start of the URI that the word's last letters and the colon after them may begin.
    fn uri_start(&self, word: Start, colon: usize) -> Option<Start> {
        let at = colon.checked_sub("data".len()).filter(|_| self.preceding.ends_with_data_scheme())?;
        let style = if word.at == at { word.style } else { LinkStyle::Inline };
        Some(Start { at, style, ..word })
    }
}

/// True for a byte of the standard or the URL-safe base64 alphabet.
fn is_run_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

fn new_match(start: Start, end: usize, is_uri: bool, at: usize, next: Option<u8>) -> Match {
    let next = next.filter(|_| at == end);
    Match {
        range: start.at..end,
        is_uri,
        style: start.style,
        is_followed_by_angle: next == Some(b'>'),
        needs_space: start.style == LinkStyle::Url && next.is_some_and(is_run_byte),
    }
}

/// Count and kind of a run's characters.
#[derive(Debug, Default, Clone, Copy)]
struct Chars {
    count: usize,
    /// True if there is a letter or digit: a rule of dashes or underscores is not base64.
    is_meaningful: bool,
}

impl Chars {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.is_meaningful |= other.is_meaningful;
    }

    fn from_byte(byte: u8) -> Self {
        Self { count: 1, is_meaningful: byte.is_ascii_alphanumeric() }
    }
}

/// A run of base64: unbroken, or wrapped into lines.
#[derive(Debug)]
struct Run {
    start: Start,
    /// End of the text known to belong to the run.
    end: usize,
    chars: Chars,
    position: RunPosition,
}

/// Position of the next character within a run.
#[derive(Debug, Clone, Copy)]
enum RunPosition {
    /// In a line with this many characters so far.
    Line(usize),
    /// After this many padding characters.
    Padding(usize),
    /// Between CR and LF.
    CarriageReturn,
    /// In a line that belongs to the run if it is long enough or the run's last.
    Tail { begins: usize, chars: Chars },
}

impl Run {
    fn new(start: Start, byte: u8) -> Self {
        Self { start, end: start.at + 1, chars: Chars::from_byte(byte), position: RunPosition::Line(1) }
    }

    /// Takes the next character. Returns true if it belongs to the run, or may do so.
    fn accepts(&mut self, byte: u8, at: usize) -> bool {
        let is_wrapped = matches!(self.position, RunPosition::Line(MIN_WRAPPED_CHARS..));
        match (&mut self.position, byte) {
            (RunPosition::Line(line), _) if is_run_byte(byte) => {
                *line += 1;
                self.chars.add(Chars::from_byte(byte));
                self.end = at + 1;
            }
            (RunPosition::Tail { chars, .. }, _) if is_run_byte(byte) => {
                chars.add(Chars::from_byte(byte));
                if chars.count == MIN_WRAPPED_CHARS {
                    self.absorb_tail(at + 1);
                }
            }
            (RunPosition::Tail { chars, .. }, b'=' | b'\r' | b'\n') if chars.count > 0 => {
                self.absorb_tail(at);
                return self.accept_padding(byte, 1, at);
            }
            (RunPosition::Line(_), b'=') => return self.accept_padding(byte, 1, at),
            (RunPosition::Padding(1), b'=') => return self.accept_padding(byte, 2, at),
            (RunPosition::Line(_), b'\r') if is_wrapped => self.position = RunPosition::CarriageReturn,
            (RunPosition::Line(_), b'\n') if is_wrapped => self.position = RunPosition::tail(at),
            (RunPosition::CarriageReturn, b'\n') => self.position = RunPosition::tail(at),
            _ => return false,
        }
        true
    }

    fn accept_padding(&mut self, byte: u8, padding: usize, at: usize) -> bool {
        if byte == b'=' {
            self.position = RunPosition::Padding(padding);
            self.end = at + 1;
        }
        byte == b'='
    }

    /// Adds the last line to the run.
    fn absorb_tail(&mut self, end: usize) {
        if let RunPosition::Tail { chars, .. } = self.position
            && chars.count > 0
        {
            self.chars.add(chars);
            self.position = RunPosition::Line(chars.count);
            self.end = end;
        }
    }

    /// Returns the word that turned out not to be the run's last line, once a character ended both.
    fn rejected_tail(&self) -> Option<Start> {
        match self.position {
            RunPosition::Tail { begins, chars } if chars.count > 0 => {
                Some(Start { at: begins, style: LinkStyle::LineStart, held_from: begins })
            }
            _ => None,
        }
    }

    fn finish(&self, at: usize, next: Option<u8>) -> Option<Match> {
        let is_file = self.chars.count >= MIN_EMBEDDED_CHARS && self.chars.is_meaningful;
        is_file.then(|| new_match(self.start, self.end, false, at, next))
    }
}

impl RunPosition {
    /// Starts the line after the one that ends here.
    fn tail(line_feed: usize) -> Self {
        Self::Tail { begins: line_feed + 1, chars: Chars::default() }
    }
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
        (at - self.start.at >= MIN_EMBEDDED_CHARS).then(|| new_match(self.start, at, true, at, next))
    }
}
