//! Runs of base64: unbroken, or wrapped into lines.
//!
//! The words of a wrapped run are of one length, and the gaps between them are of one shape: a line break and what the
//! text has around it, such as a quote mark, a list marker, a line number or the quotes of string literals. Digits and
//! blanks of a gap don't count, since they vary. The last word may be shorter. Words of at least 60 characters may
//! differ in length, since prose has none of them. Such and narrower ones need many different characters: a list of
//! words, of paths, of numbered names or of hexadecimal hashes is no file.

use super::{
    embedded_file::{MIN_EMBEDDED_CHARS, Match, Start, is_run_byte},
    preceding_text::PrecedingText,
};

/// Minimum length of words that need not be of one length.
pub(super) const WIDE_CHARS: usize = 60;

/// Minimum length of the first word of a wrapped run if it looks like prose: text precedes it on its line, or all its
/// letters but the first are lower case. Prose would be held back for the sake of a shorter one.
const MIN_PROSE_CHARS: usize = 16;

/// Minimum number of different characters in a run of narrow words. Base64 of a short text has about 30.
const MIN_KINDS: u32 = 24;

/// Maximum length of a gap, in characters.
const MAX_GAP_CHARS: usize = 256;

/// The effect of a character on a run.
#[derive(Debug)]
pub(super) enum RunStep {
    /// The run continues, or another run began with the current word. The file ended before that word.
    Continues(Option<Match>),
    /// The run is over. The position is the start of a word that the character ended and that the run doesn't include.
    Ends(Option<Match>, Option<usize>),
}

/// Count and kinds of a run's characters.
#[derive(Debug, Default, Clone, Copy)]
struct Chars {
    count: usize,
    /// A bit for each character of the alphabet that occurs: 26 for upper case, 26 for lower case, 10 digits, the rest.
    kinds: u64,
}

const UPPER: u64 = (1 << 26) - 1;
const LOWER: u64 = UPPER << 26;
const DIGITS: u64 = ((1 << 10) - 1) << 52;

impl Chars {
    fn push(&mut self, byte: u8) {
        self.count += 1;
        self.kinds |= 1
            << match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' | b'-' => 62,
                _ => 63,
            };
    }

    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.kinds |= other.kinds;
    }

    fn has(self, kinds: u64) -> bool {
        self.kinds & kinds != 0
    }

    fn has_letter(self) -> bool {
        self.has(UPPER | LOWER)
    }

    /// True for characters that occur in base64 rather than in words, numbers, hexadecimal digits or names.
    fn is_diverse(self) -> bool {
        self.has(UPPER) && self.has(LOWER) && self.has(DIGITS) && self.kinds.count_ones() >= MIN_KINDS
    }
}

/// A run of base64 in progress.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    start: Start,
    /// True if no text precedes the first word on its line.
    is_first_in_line: bool,
    /// End of the text known to belong to the run.
    end: usize,
    /// The characters up to there.
    chars: Chars,
    /// Length of every word but the last. Unknown after a first word that has text before it.
    width: Option<usize>,
    /// Shape of every gap.
    shape: Option<u64>,
    /// Shape of the part of every gap that precedes the line break.
    suffix: Option<u64>,
    /// The last word after a gap.
    last: Option<Word>,
    /// True if words before the last one differ in length.
    is_uneven: bool,
    position: Position,
}

/// Position of the next character within a run.
#[derive(Debug, Clone, Copy)]
enum Position {
    Word(Word),
    /// After this many padding characters.
    Padding(usize),
    /// After a word. It belongs to the run once a line break follows.
    Gap(Gap, Option<Word>),
}

#[derive(Debug, Clone, Copy)]
struct Word {
    start: Start,
    chars: Chars,
    /// True if it is written like a word of prose.
    is_prose: bool,
    /// The gap before it, and the same with the characters of the word, which may be marks too. `None` before the first.
    gap: Option<(Gap, Gap)>,
}

impl Word {
    fn new(start: Start, byte: u8, gap: Option<(Gap, Gap)>) -> Self {
        let mut chars = Chars::default();
        chars.push(byte);
        Self { start, chars, is_prose: byte.is_ascii_alphabetic(), gap }
    }

    fn push(&mut self, byte: u8) {
        self.chars.push(byte);
        self.is_prose &= byte.is_ascii_lowercase();
    }

    /// True if it has no letter, and ends with this byte: a sign, or a number before a word.
    fn is_mark(&self, next: u8) -> bool {
        !self.chars.has_letter() && (next != b'\n' || !self.chars.has(DIGITS))
    }
}

/// The text between two words.
#[derive(Debug, Default, Clone, Copy)]
struct Gap {
    chars: usize,
    /// A hash of its symbols.
    shape: u64,
    /// The same of those before the first line break.
    suffix: u64,
    last: u8,
    has_line_break: bool,
}

impl Gap {
    /// Adds a character. Returns false if the gap is too long, or the character belongs to none.
    fn push(&mut self, byte: u8) -> bool {
        // A line break within a string of JSON.
        let byte = if self.last == b'\\' && byte == b'n' { b'\n' } else { byte };
        self.chars += 1;
        if byte == b'\n' && !self.has_line_break {
            (self.has_line_break, self.suffix) = (true, self.shape);
        }
        let is_counted = !matches!(byte, b' ' | b'\t' | b'\r' | b'0'..=b'9');
        // Blank lines may vary.
        if is_counted && !(byte == b'\n' && self.last == b'\n') {
            self.shape = self.shape.wrapping_mul(257).wrapping_add(u64::from(byte));
        }
        if is_counted {
            self.last = byte;
        }
        let is_gap = match byte {
            b'`' | b'~' | b'<' | b'{' | b'}' => false,
            b':' | b'(' | b'.' | b'!' | b'?' => self.has_line_break,
            _ => true,
        };
        is_gap && self.chars <= MAX_GAP_CHARS
    }

    /// True if a letter continues an escape sequence rather than a word.
    fn is_escape(&self, byte: u8) -> bool {
        self.last == b'\\' && byte == b'n'
    }
}

impl Run {
    /// Creates a run at its first character.
    pub(super) fn new(start: Start, byte: u8, is_first_in_line: bool) -> Self {
        Self::with_first(Word::new(start, byte, None), is_first_in_line)
    }

    fn with_first(word: Word, is_first_in_line: bool) -> Self {
        Self {
            start: word.start,
            is_first_in_line,
            end: word.start.at,
            chars: Chars::default(),
            width: None,
            shape: None,
            suffix: None,
            last: None,
            is_uneven: false,
            position: Position::Word(word),
        }
    }

    pub(super) fn held_from(&self) -> usize {
        self.start.held_from
    }

    /// Returns the start of the current word, if that is not long enough for a file.
    pub(super) fn word(&self) -> Option<Start> {
        match &self.position {
            Position::Word(word) if word.gap.is_some() || word.chars.count < MIN_EMBEDDED_CHARS => {
                Some(word.start)
            }
            _ => None,
        }
    }

    /// Takes the next character.
    pub(super) fn take(&mut self, byte: u8, at: usize, preceding: &PrecedingText) -> RunStep {
        match &mut self.position {
            Position::Word(word) if is_run_byte(byte) => {
                word.push(byte);
                let Some((_, marks)) = &mut word.gap else { return RunStep::Continues(None) };
                if !word.chars.has_letter() {
                    marks.push(byte);
                }
                let word = *word;
                self.check_word(word)
            }
            Position::Word(word) if byte == b'=' => {
                let word = *word;
                self.add(word);
                (self.position, self.end) = (Position::Padding(1), at + 1);
                RunStep::Continues(None)
            }
            Position::Word(word) => {
                let word = *word;
                match word.gap {
                    Some((_, marks)) if word.is_mark(byte) => self.position = Position::Gap(marks, None),
                    None if word.is_mark(byte) || !self.may_continue(word) => {
                        return self.separate(byte, at);
                    }
                    _ => self.position = Position::Gap(Gap::default(), Some(word)),
                }
                self.take_gap(byte, at, preceding)
            }
            Position::Padding(1) if byte == b'=' => {
                (self.position, self.end) = (Position::Padding(2), at + 1);
                RunStep::Continues(None)
            }
            Position::Padding(_) => self.separate(byte, at),
            Position::Gap(..) => self.take_gap(byte, at, preceding),
        }
    }

    /// True if a run may continue after its first word.
    fn may_continue(&self, first: Word) -> bool {
        first.chars.count >= MIN_PROSE_CHARS || self.is_first_in_line && !first.is_prose
    }

    /// Ends the run before a character that can't belong to it.
    pub(super) fn separate(&mut self, byte: u8, at: usize) -> RunStep {
        let rejected = self.close();
        RunStep::Ends(self.finish(at, Some(byte)), rejected.map(|word| word.start.at))
    }

    /// Ends the text.
    pub(super) fn end(mut self, at: usize) -> Option<Match> {
        match self.position {
            Position::Word(word) if word.chars.has_letter() => self.add(word),
            _ => _ = self.close(),
        }
        self.finish(at, None)
    }

    /// Adds the current word if nothing more can decide that. Returns it if it doesn't belong to the run.
    fn close(&mut self) -> Option<Word> {
        match self.position {
            Position::Word(word) | Position::Gap(_, Some(word))
                if word.gap.is_none() || word.chars.count >= WIDE_CHARS =>
            {
                self.add(word);
            }
            // A string literal at the end of the text.
            Position::Gap(gap, Some(word)) if gap.shape != 0 && self.suffix == Some(gap.shape) => {
                self.add(word);
            }
            Position::Word(word) | Position::Gap(_, Some(word)) => return Some(word),
            Position::Gap(_, None) | Position::Padding(_) => {}
        }
        None
    }

    fn take_gap(&mut self, byte: u8, at: usize, preceding: &PrecedingText) -> RunStep {
        let Position::Gap(gap, word) = &mut self.position else { return RunStep::Continues(None) };
        if gap.has_line_break && is_run_byte(byte) && !gap.is_escape(byte) {
            let mut marks = *gap;
            marks.push(byte);
            let start = Start { at, style: preceding.link_style(), held_from: at };
            let next = Word::new(start, byte, Some((*gap, marks)));
            self.position = Position::Word(next);
            return self.check_word(next);
        }
        let is_line_break = byte == b'\n' || gap.is_escape(byte);
        if byte.is_ascii_alphanumeric() && !is_line_break || !gap.push(byte) {
            return self.separate(byte, at);
        }
        let (gap, ended) = (*gap, word.take_if(|_| is_line_break));
        ended.map_or(RunStep::Continues(None), |word| self.end_word(word, gap, at))
    }

    /// Checks a word so far. The run ends before one that is longer than its words, or comes after another gap.
    fn check_word(&mut self, word: Word) -> RunStep {
        let fits = self.width.is_none_or(|width| word.chars.count <= width || width >= WIDE_CHARS);
        let is_alike = !word.chars.has_letter() || self.is_alike(word);
        if word.gap.is_none() || fits && is_alike {
            return RunStep::Continues(None);
        }
        self.restart(word, None, word.start.at)
    }

    /// Adds a word at the end of its line. A shorter one is the last.
    fn end_word(&mut self, word: Word, gap: Gap, at: usize) -> RunStep {
        let before = *self;
        let is_last = self.width.is_some_and(|width| word.chars.count < width.min(WIDE_CHARS));
        let is_alike = self.is_alike(word);
        self.add(word);
        if is_alike && is_last && self.is_file() {
            return RunStep::Ends(self.finish(at, None), None);
        }
        if is_last || !is_alike || self.chars.count >= MIN_EMBEDDED_CHARS && !self.is_file() {
            *self = before;
            return self.restart(word, Some(gap), at);
        }
        RunStep::Continues(None)
    }

    /// Ends the run before a word, and begins another with it, or with the word before if only the gap between them
    /// differs. `gap` is the text after the word, if the word is complete.
    fn restart(&mut self, word: Word, gap: Option<Gap>, at: usize) -> RunStep {
        let matched = self.finish(word.start.at, None);
        let previous = self.last.filter(|_| matched.is_none() && !self.is_alike(word));
        let first = Word { gap: None, ..previous.unwrap_or(word) };
        *self = Self::with_first(first, true);
        match (previous, gap) {
            (Some(_), None) => {
                self.add(first);
                self.position = Position::Word(word);
                return self.check_word(word);
            }
            (Some(_), Some(gap)) => {
                self.add(first);
                self.position = Position::Gap(gap, None);
                return self.end_word(word, gap, at);
            }
            (None, Some(gap)) => {
                let may_continue = self.may_continue(first);
                self.add(first);
                self.position = Position::Gap(gap, None);
                if !may_continue {
                    return RunStep::Ends(matched, None);
                }
            }
            (None, None) => {}
        }
        RunStep::Continues(matched)
    }

    /// True if the gap before a word is like those before.
    fn is_alike(&self, word: Word) -> bool {
        let shape = self.shape.zip(word.gap);
        shape.is_none_or(|(shape, (gap, _))| shape == gap.shape)
    }

    fn add(&mut self, word: Word) {
        let count = word.chars.count;
        self.chars.add(word.chars);
        self.end = word.start.at + count;
        match word.gap {
            None => self.width = self.is_first_in_line.then_some(count),
            Some((gap, _)) => {
                self.is_uneven |= self.last.is_some_and(|last| Some(last.chars.count) != self.width);
                self.width = self.width.or(Some(count));
                self.last = Some(word);
                self.shape = self.shape.or(Some(gap.shape));
                self.suffix = self.suffix.or(Some(gap.suffix));
            }
        }
    }

    fn is_file(&self) -> bool {
        let is_narrow = self.width.is_some_and(|width| width < WIDE_CHARS);
        // A rule of dashes or underscores is not base64.
        let is_base64 = if is_narrow || self.is_uneven {
            self.chars.is_diverse()
        } else {
            self.chars.has(UPPER | LOWER | DIGITS)
        };
        self.chars.count >= MIN_EMBEDDED_CHARS && is_base64
    }

    fn finish(&self, at: usize, next: Option<u8>) -> Option<Match> {
        self.is_file().then(|| Match::new(self.start, self.end, false, at, next))
    }
}
