//! Finds fenced code blocks in Markdown, by CommonMark's rules.
//!
//! A fence opens with three or more backticks or tildes and closes with at least as many of the same. An unclosed one
//! extends to the end of the text. Fences in block quotes and lists count. In one respect this is more lenient than
//! CommonMark: within a list, a fence may have any indentation, because the width of list markers is not tracked.
//!
//! The scanner takes each character once. Between lines it carries the open fence and whether a list is open; within
//! a line, its position in the prefix. Only a line whose content starts with fence marks is undecided for a while:
//! backticks may turn out to be inline code, up to the end of the line. The prefix before the content can't embed
//! anything, so it doesn't wait for the decision.

/// An open fence.
#[derive(Debug, Clone, Copy)]
struct OpenFence {
    mark: char,
    length: usize,
    quotes: usize,
    in_list: bool,
}

/// The classification of a character's line so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    /// Outside of fences up to here, or nothing but marks of quotes and lists.
    Unfenced,
    /// Within a fence, including its marks.
    Fenced,
    /// Fence marks that may open a fence.
    Undecided,
}

/// A scanner for fences.
#[derive(Debug, Default)]
pub(super) struct Fences {
    open: Option<OpenFence>,
    in_list: bool,
    position: Position,
    closing: ClosingFence,
    /// The start of the info string of the open or opening fence.
    info: String,
}

/// Maximum number of characters of an info string that are read.
const MAX_INFO_CHARS: usize = 16;

/// Position of the next character in its line.
#[derive(Debug)]
enum Position {
    /// In the prefix before the line's content.
    Start(LineStart),
    /// In a line that opens a fence if it has enough marks; after the marks, maybe in the info string.
    Opening { open: OpenFence, in_info: bool },
    /// In a line outside of fences.
    Prose,
    /// In a line within a fence.
    Fenced,
}

impl Default for Position {
    fn default() -> Self {
        Self::Start(LineStart::default())
    }
}

impl Fences {
    /// Takes the next character.
    pub(super) fn take(&mut self, c: char) -> LineKind {
        if let Some(open) = self.open {
            self.closing.take(c, open);
        }
        let line = match &mut self.position {
            Position::Start(start) => match start.take(c) {
                None => self.continue_fence(),
                Some(content) => self.start_content(content, c),
            },
            Position::Opening { .. } => self.opening(c),
            Position::Prose => LineKind::Unfenced,
            Position::Fenced => LineKind::Fenced,
        };
        if c == '\n' {
            self.next_line();
        }
        line
    }

    /// True after the marks that may open a fence, before its info string.
    pub(super) fn is_in_opening_marks(&self) -> bool {
        matches!(self.position, Position::Opening { in_info: false, .. })
    }

    /// Returns the language tag of the open fence, maybe empty; none outside of fences.
    pub(super) fn tag(&self) -> Option<&str> {
        self.open.map(|_| self.info.split_whitespace().next().unwrap_or_default())
    }

    /// True in a fence whose lines have no quote marks.
    pub(super) fn is_open_outside_quotes(&self) -> bool {
        self.open.is_some_and(|open| open.quotes == 0)
    }

    /// True if the text so far ends in a fence.
    pub(super) fn ends_open(&self) -> bool {
        let closes = |open| matches!(self.position, Position::Fenced) && self.closing.closes(open);
        self.open.is_some_and(|open| !closes(open))
    }

    /// True if the next character is the first of a line outside of fences.
    pub(super) fn begins_line(&self) -> bool {
        self.open.is_none() && matches!(&self.position, Position::Start(start) if start.is_new())
    }

    /// Ends the text and classifies its last line if that was undecided.
    pub(super) fn end(&self) -> LineKind {
        match self.position {
            Position::Opening { open, .. } if open.length >= 3 => LineKind::Fenced,
            Position::Fenced => LineKind::Fenced,
            _ => LineKind::Unfenced,
        }
    }

    /// Continues a fence within quotes if the line has as many quote marks.
    fn continue_fence(&mut self) -> LineKind {
        match (&self.position, self.open) {
            (Position::Start(start), Some(open)) if start.quotes >= open.quotes => {
                self.position = Position::Fenced;
                LineKind::Fenced
            }
            _ => LineKind::Unfenced,
        }
    }

    /// Starts the line's content, at `c` at the latest.
    fn start_content(&mut self, content: LineContent, c: char) -> LineKind {
        let Position::Start(start) = std::mem::take(&mut self.position) else { return LineKind::Unfenced };
        // A fence within a quote ends with the quote.
        self.open = None;
        if start.is_item {
            self.in_list = true;
        } else if start.indent == 0 && content != LineContent::Empty {
            self.in_list = false;
        }
        let is_code = start.indent > 3 && !self.in_list;
        if content == LineContent::Marks && !is_code {
            let open = OpenFence { mark: c, length: 1, quotes: start.quotes, in_list: self.in_list };
            self.position = Position::Opening { open, in_info: false };
            self.info.clear();
            return LineKind::Undecided;
        }
        self.position = Position::Prose;
        LineKind::Unfenced
    }

    fn opening(&mut self, c: char) -> LineKind {
        let Position::Opening { open, in_info } = &mut self.position else { return LineKind::Unfenced };
        if !*in_info && c == open.mark {
            open.length += 1;
        } else {
            let is_inline = open.mark == '`' && *in_info && c == '`';
            if open.length < 3 || is_inline {
                self.position = Position::Prose;
                return LineKind::Unfenced;
            }
            *in_info = true;
            if self.info.len() < MAX_INFO_CHARS && !(self.info.is_empty() && c.is_whitespace()) {
                self.info.push(c);
            }
        }
        // A tag may be added to a fence without one, up to the end of the line.
        let is_decided = c == '\n' || open.mark == '~' && !self.info.is_empty();
        if open.length >= 3 && is_decided { LineKind::Fenced } else { LineKind::Undecided }
    }

    fn next_line(&mut self) {
        match (&self.position, self.open) {
            // A line with fewer marks is prose by now.
            (Position::Opening { open, .. }, _) => self.open = Some(*open),
            (Position::Fenced, Some(open)) if self.closing.closes(open) => self.open = None,
            _ => {}
        }
        self.closing = ClosingFence::default();
        self.position = match self.open {
            Some(OpenFence { quotes: 0, .. }) => Position::Fenced,
            _ => Position::default(),
        };
    }
}

/// The prefix of a line before its content: blanks, quote marks and list markers.
#[derive(Debug, Default)]
struct LineStart {
    quotes: usize,
    is_item: bool,
    /// Indentation after the last quote mark or list marker.
    indent: usize,
    state: PrefixState,
}

/// The last character of a line's prefix.
#[derive(Debug, Default, Clone, Copy)]
enum PrefixState {
    /// A blank, or the start of the line.
    #[default]
    Blank,
    /// A `>`, which includes one blank after it.
    Quote,
    /// This many digits, maybe of `1. ` or `1) `.
    Digits(usize),
    /// The end of a list marker if a blank follows.
    Marker,
    /// A CR, which ends the line if LF follows.
    CarriageReturn,
}

/// The start of a line's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineContent {
    /// Empty.
    Empty,
    /// A backtick or a tilde.
    Marks,
    Prose,
}

impl LineStart {
    /// Takes the next character, until the line's content starts.
    fn take(&mut self, c: char) -> Option<LineContent> {
        self.state = match (self.state, c) {
            (PrefixState::CarriageReturn, '\r') => PrefixState::CarriageReturn,
            (PrefixState::CarriageReturn | PrefixState::Blank | PrefixState::Quote, '\n') => {
                return Some(LineContent::Empty);
            }
            (PrefixState::CarriageReturn, _) => return Some(LineContent::Prose),
            (PrefixState::Quote, ' ') => PrefixState::Blank,
            (PrefixState::Blank | PrefixState::Quote, _) => match c {
                ' ' => self.blank(1),
                '\t' => self.blank(4),
                '>' => {
                    self.quotes += 1;
                    self.indent = 0;
                    PrefixState::Quote
                }
                '-' | '*' | '+' => PrefixState::Marker,
                '0'..='9' => PrefixState::Digits(1),
                '\r' => PrefixState::CarriageReturn,
                '`' | '~' => return Some(LineContent::Marks),
                _ => return Some(LineContent::Prose),
            },
            (PrefixState::Digits(digits), '0'..='9') if digits < 9 => PrefixState::Digits(digits + 1),
            (PrefixState::Digits(_), '.' | ')') => PrefixState::Marker,
            (PrefixState::Marker, ' ' | '\t') => {
                self.is_item = true;
                self.indent = 0;
                PrefixState::Blank
            }
            (PrefixState::Digits(_) | PrefixState::Marker, _) => return Some(LineContent::Prose),
        };
        None
    }

    /// True before the first character of the line.
    fn is_new(&self) -> bool {
        self.quotes == 0 && !self.is_item && self.indent == 0 && matches!(self.state, PrefixState::Blank)
    }

    fn blank(&mut self, width: usize) -> PrefixState {
        self.indent += width;
        PrefixState::Blank
    }
}

/// Detects a line that closes the open fence.
#[derive(Debug, Default)]
struct ClosingFence {
    quotes: usize,
    indent: usize,
    marks: usize,
    state: ClosingState,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ClosingState {
    /// Before or within the marks.
    #[default]
    Marks,
    /// After a quote mark, where one blank belongs to the quote.
    Blank,
    /// Within the closing marks.
    ClosingMarks,
    /// After the closing marks.
    End,
    /// Another line.
    NotClosing,
}

impl ClosingFence {
    fn take(&mut self, c: char, open: OpenFence) {
        self.state = match self.state {
            ClosingState::Blank if c == ' ' => ClosingState::Marks,
            ClosingState::Marks | ClosingState::Blank if c.is_whitespace() => {
                self.indent += c.len_utf8();
                ClosingState::Marks
            }
            ClosingState::Marks | ClosingState::Blank if c == '>' && self.quotes < open.quotes => {
                self.quotes += 1;
                self.indent = 0;
                ClosingState::Blank
            }
            ClosingState::Marks | ClosingState::Blank | ClosingState::ClosingMarks if c == open.mark => {
                self.marks += 1;
                ClosingState::ClosingMarks
            }
            ClosingState::ClosingMarks | ClosingState::End if c.is_whitespace() => ClosingState::End,
            _ => ClosingState::NotClosing,
        };
    }

    fn closes(&self, open: OpenFence) -> bool {
        self.state != ClosingState::NotClosing
            && self.marks >= open.length
            && (self.indent <= 3 || open.in_list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lines outside of fences, and the classification at the end of the text.
    fn scan(text: &str) -> (String, LineKind) {
        let (mut fences, mut outside) = (Fences::default(), String::new());
        for line in text.split_inclusive('\n') {
            let kind = line.chars().map(|c| fences.take(c)).last().unwrap();
            let kind = if line.ends_with('\n') { kind } else { fences.end() };
            if kind == LineKind::Unfenced {
                outside.push_str(line);
            }
        }
        (outside, fences.end())
    }

    fn outside(text: &str) -> String {
        scan(text).0
    }

    #[test]
    fn fence_closes_with_as_many_of_same_marks() {
        assert_eq!(outside("a\n```json\nx\n```\nb"), "a\nb");
        assert_eq!(outside("a\n~~~\nx\n```\n~~\n~~~~ \nb"), "a\nb");
        assert_eq!(outside("````\nx\n```\ny\n````\nb"), "b");
        assert_eq!(outside("```\nx\n``` no\ny\n```\r\nb"), "b");
        assert_eq!(outside("   ```\nx\n   ```\nb"), "b");
    }

    #[test]
    fn fence_lookalike_stays_outside() {
        for text in ["``\nx\n``\n", "```a`b\nx\n", "    ```\nx\n", "a ```\nx\n", "~ ~ ~\nx"] {
            assert_eq!(outside(text), text);
        }
        assert_eq!(outside("```\nx\n    ```\ny"), "");
    }

    #[test]
    fn unclosed_fence_extends_to_end() {
        assert_eq!(outside("a\n```\nx\n\ny"), "a\n");
        assert_eq!(scan("```\n").1, LineKind::Fenced);
        assert_eq!(scan("```\n```\n").1, LineKind::Unfenced);
    }

    #[test]
    fn fence_in_quote_ends_with_quote() {
        assert_eq!(outside("> ```\n> x\nb\n"), "b\n");
        assert_eq!(outside("> ```\n> x\n> ```\n> b\n"), "> b\n");
        assert_eq!(outside("> > ```\n> > x\n> b\n"), "> b\n");
    }

    #[test]
    fn fence_in_list_counts() {
        assert_eq!(outside("- ```\n  x\n  ```\n- b\n"), "- b\n");
        assert_eq!(outside("1. a\n\n       ```\n       x\n       ```\nb\n"), "1. a\n\nb\n");
        assert_eq!(outside("- a\n\nb\n    ```\nx\n"), "- a\n\nb\n    ```\nx\n");
    }
}
