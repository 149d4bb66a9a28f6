//! Finds what embeds a file in unfenced text: `data:` URIs and runs of base64.
//!
//! The text is taken one character at a time, each once. What is carried is a few characters that stand
//! before, which tell a scheme and a link's destination; the run or the URI that is being read; and the
//! beginnings that become URIs if a comma follows soon. A beginning and a run may be read side by side:
//! the run cannot become long enough before it is decided whether it belongs to a URI. The short line
//! that ends a wrapped run may turn out to be a word of its own; it is too short to be a file then, so
//! that nothing has to be read again.

use std::{collections::VecDeque, ops::Range};

use super::before::{Before, Place};

/// How long a run or a URI has to be before it counts as an embedded file
/// (ruling: no inline code blobs).
pub const MIN_EMBEDDED_CHARS: usize = 512;

/// A line of a wrapped run is at least that long; words of prose are not.
const MIN_WRAPPED_CHARS: usize = 60;

/// The longest head of a `data:` URI that is taken for one, with its comma.
const MAX_URI_HEAD: usize = 256;

const SCHEME: &str = "data:";

/// An embedded file and where it stands.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) range: Range<usize>,
    pub(super) is_uri: bool,
    pub(super) place: Place,
    /// Whether a `>` follows.
    pub(super) is_closed: bool,
    /// Whether what follows would go on with a URL in its place: another run, behind this one's padding.
    pub(super) needs_blank: bool,
}

impl Found {
    /// What a link takes the place of.
    pub(super) fn replaced(&self) -> Range<usize> {
        let Range { start, end } = self.range;
        if self.place == Place::Angle && self.is_closed {
            start.saturating_sub(1)..end + 1
        } else {
            start..end
        }
    }
}

/// Reads a text for embedded files.
#[derive(Debug, Default)]
pub(super) struct Finder {
    before: Before,
    /// From where on the text is held back for a `<` that has just been read.
    angle: usize,
    /// Where URIs begin if a comma follows, none further back than a head is long.
    heads: VecDeque<Start>,
    reading: Reading,
}

#[derive(Debug, Default)]
enum Reading {
    #[default]
    Nothing,
    Run(Run),
    Uri(Uri),
}

/// Where a file may begin.
#[derive(Debug, Clone, Copy)]
struct Start {
    at: usize,
    place: Place,
    /// From where on the text is held back for it.
    holds: usize,
}

impl Finder {
    /// From where on the text may yet turn out to be embedded, if there is such a place.
    pub(super) fn holds(&self) -> Option<usize> {
        let reading = match &self.reading {
            Reading::Nothing => (self.before.place() == Place::Angle).then_some(self.angle),
            Reading::Run(run) => Some(run.start.holds),
            Reading::Uri(uri) => Some(uri.start.holds),
        };
        self.heads.front().map(|head| head.holds).or(reading)
    }

    /// Takes the next character; what has ended before it.
    pub(super) fn take(&mut self, c: char, at: usize) -> Option<Found> {
        // What is no ASCII is all the same.
        let byte = u8::try_from(c).ok().filter(u8::is_ascii).unwrap_or(u8::MAX);
        if !byte.is_ascii_graphic() || b"()<>`".contains(&byte) {
            self.heads.clear();
        }
        while self.heads.front().is_some_and(|head| at >= head.at + SCHEME.len() + MAX_URI_HEAD) {
            self.heads.pop_front();
        }
        let found = self.read(byte, at);
        self.before.push(byte);
        found
    }

    /// The text ends here, or a fence begins: what has ended with it.
    pub(super) fn end(&mut self, at: usize) -> Option<Found> {
        let ended = std::mem::take(self);
        match ended.reading {
            Reading::Nothing => None,
            Reading::Run(mut run) => {
                run.take_tail(at);
                run.found(at, None)
            }
            Reading::Uri(uri) => uri.found(at, None),
        }
    }

    fn read(&mut self, byte: u8, at: usize) -> Option<Found> {
        let goes_on = match &mut self.reading {
            Reading::Nothing => false,
            Reading::Run(run) => run.goes_on(byte, at),
            Reading::Uri(uri) => uri.goes_on(byte),
        };
        if goes_on {
            return None;
        }
        let (found, word) = match std::mem::take(&mut self.reading) {
            Reading::Nothing => (None, None),
            Reading::Run(run) => {
                let found = run.found(at, Some(byte));
                let itself = found.is_none().then_some(run.start);
                (found, run.refused().or(itself))
            }
            Reading::Uri(uri) => (uri.found(at, Some(byte)), None),
        };
        self.begin(byte, at, word);
        found
    }

    /// Begins what a character begins. `word` is the run that it ended, if that was no file.
    fn begin(&mut self, byte: u8, at: usize, word: Option<Start>) {
        match byte {
            _ if is_run_byte(byte) => {
                let place = self.before.place();
                let holds = if place == Place::Angle { self.angle } else { at };
                self.reading = Reading::Run(Run::new(Start { at, place, holds }, byte));
            }
            b':' => self.heads.extend(word.and_then(|word| self.head(word, at))),
            b',' => {
                if let Some(start) = self.heads.pop_front() {
                    self.heads.clear();
                    self.reading = Reading::Uri(Uri::new(start, self.before.ends_with(b";base64")));
                }
            }
            b'<' => {
                // It refused a word as a wrapped run's end: the text up to the word says otherwise.
                self.angle = word.filter(|word| word.place == Place::OwnLine).map_or(at, |word| word.at);
            }
            _ => {}
        }
    }

    /// The URI that may begin with the word's last letters, which a colon follows.
    fn head(&self, word: Start, colon: usize) -> Option<Start> {
        let at = colon.checked_sub("data".len()).filter(|_| self.before.ends_a_scheme())?;
        let place = if word.at == at { word.place } else { Place::Plain };
        Some(Start { at, place, ..word })
    }
}

/// A byte of the standard or the URL-safe alphabet.
fn is_run_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

fn found(start: Start, end: usize, is_uri: bool, at: usize, next: Option<u8>) -> Found {
    let next = next.filter(|_| at == end);
    Found {
        range: start.at..end,
        is_uri,
        place: start.place,
        is_closed: next == Some(b'>'),
        needs_blank: start.place == Place::Url && next.is_some_and(is_run_byte),
    }
}

/// Characters of a run.
#[derive(Debug, Default, Clone, Copy)]
struct Chars {
    count: usize,
    /// A rule of dashes or underscores is no base64.
    say_something: bool,
}

impl Chars {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.say_something |= other.say_something;
    }

    fn of(byte: u8) -> Self {
        Self { count: 1, say_something: byte.is_ascii_alphanumeric() }
    }
}

/// A run of base64: unbroken, or wrapped into lines.
#[derive(Debug)]
struct Run {
    start: Start,
    /// Where what is known to belong to it ends.
    end: usize,
    chars: Chars,
    part: Part,
}

/// Where in a run the next character stands.
#[derive(Debug, Clone, Copy)]
enum Part {
    /// In a line of so many characters.
    Line(usize),
    /// After so much padding.
    Padding(usize),
    /// Between the halves of a line's end.
    Return,
    /// In a line that belongs to the run if it is long enough, or the run's last.
    Tail { begins: usize, chars: Chars },
}

impl Run {
    fn new(start: Start, byte: u8) -> Self {
        Self { start, end: start.at + 1, chars: Chars::of(byte), part: Part::Line(1) }
    }

    /// Takes a character that belongs to the run, or may do so.
    fn goes_on(&mut self, byte: u8, at: usize) -> bool {
        let is_wrapped = matches!(self.part, Part::Line(MIN_WRAPPED_CHARS..));
        match (&mut self.part, byte) {
            (Part::Line(line), _) if is_run_byte(byte) => {
                *line += 1;
                self.chars.add(Chars::of(byte));
                self.end = at + 1;
            }
            (Part::Tail { chars, .. }, _) if is_run_byte(byte) => {
                chars.add(Chars::of(byte));
                if chars.count == MIN_WRAPPED_CHARS {
                    self.take_tail(at + 1);
                }
            }
            (Part::Tail { chars, .. }, b'=' | b'\r' | b'\n') if chars.count > 0 => {
                self.take_tail(at);
                return self.goes_on_padded(byte, 1, at);
            }
            (Part::Line(_), b'=') => return self.goes_on_padded(byte, 1, at),
            (Part::Padding(1), b'=') => return self.goes_on_padded(byte, 2, at),
            (Part::Line(_), b'\r') if is_wrapped => self.part = Part::Return,
            (Part::Line(_), b'\n') if is_wrapped => self.part = Part::tail(at),
            (Part::Return, b'\n') => self.part = Part::tail(at),
            _ => return false,
        }
        true
    }

    fn goes_on_padded(&mut self, byte: u8, padding: usize, at: usize) -> bool {
        if byte == b'=' {
            self.part = Part::Padding(padding);
            self.end = at + 1;
        }
        byte == b'='
    }

    /// The last line belongs to the run.
    fn take_tail(&mut self, end: usize) {
        if let Part::Tail { chars, .. } = self.part
            && chars.count > 0
        {
            self.chars.add(chars);
            self.part = Part::Line(chars.count);
            self.end = end;
        }
    }

    /// The word that turned out not to be the run's last line, just before the character that ended both.
    fn refused(&self) -> Option<Start> {
        match self.part {
            Part::Tail { begins, chars } if chars.count > 0 => {
                Some(Start { at: begins, place: Place::OwnLine, holds: begins })
            }
            _ => None,
        }
    }

    fn found(&self, at: usize, next: Option<u8>) -> Option<Found> {
        let is_file = self.chars.count >= MIN_EMBEDDED_CHARS && self.chars.say_something;
        is_file.then(|| found(self.start, self.end, false, at, next))
    }
}

impl Part {
    /// The line after the one that ends here.
    fn tail(line_feed: usize) -> Self {
        Self::Tail { begins: line_feed + 1, chars: Chars::default() }
    }
}

/// A `data:` URI (RFC 2397) from its comma on.
#[derive(Debug)]
struct Uri {
    start: Start,
    is_base64: bool,
    /// How many parentheses are open.
    open: usize,
}

impl Uri {
    fn new(start: Start, is_base64: bool) -> Self {
        Self { start, is_base64, open: 0 }
    }

    /// Up to what ends a URI in Markdown or HTML; a closing parenthesis does where none was opened.
    fn goes_on(&mut self, byte: u8) -> bool {
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

    fn found(&self, at: usize, next: Option<u8>) -> Option<Found> {
        (at - self.start.at >= MIN_EMBEDDED_CHARS).then(|| found(self.start, at, true, at, next))
    }
}
