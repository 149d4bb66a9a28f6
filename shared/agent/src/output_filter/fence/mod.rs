//! Finds fenced code blocks in Markdown, by CommonMark's rules.
//!
//! A fence opens with three or more backticks or tildes and closes with at least as many of the same. An unclosed one
//! extends to the end of its container. Containers are block quotes and list items, at any depth. A property test
//! compares the scanner with `pulldown-cmark`, which needs a complete block and so can't read a text while it is
//! written. HTML blocks are the exception: a fence in one counts, because nothing is lost by it.
//!
//! The scanner takes each character once. Between lines it carries the open containers and the open block; within a
//! line, its position in the prefix.

use std::ops::Range;

use super::containers::Containers;

/// An open or opening fence.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fence {
    mark: char,
    length: usize,
    /// Position of the first mark.
    at: usize,
    /// Position of the language tag, maybe empty.
    tag: Range<usize>,
}

/// The block that a line of text may continue.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
enum Leaf {
    #[default]
    None,
    Paragraph,
    Fence(Fence),
}

/// The part of a line that a character belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The prefix of a line, or the first line of a fence.
    Prefix,
    /// Text, or the content of a fence.
    Content {
        /// Number of bytes before the character that are content too: they might have been the marker of an item.
        marker: usize,
        /// True for the first content of a line.
        is_first: bool,
    },
}

/// Content within a line.
const CONTENT: Part = Part::Content { marker: 0, is_first: false };

/// A scanner for fences.
#[derive(Debug, Default)]
pub(super) struct Fences {
    containers: Containers,
    leaf: Leaf,
    position: Position,
    /// The mark of a thematic break, if the line has no other character so far.
    rule: Rule,
    /// True if the line continues a paragraph.
    continues_paragraph: bool,
}

/// Position of the next character in its line.
#[derive(Debug)]
enum Position {
    /// In the prefix before the line's content.
    Prefix(Prefix),
    /// In a line that opens a fence if it has enough marks.
    Opening {
        fence: Fence,
        info: Info,
    },
    /// In a line that closes the open fence if it has enough marks.
    Closing {
        marks: usize,
        has_ended: bool,
    },
    Content,
}

impl Default for Position {
    fn default() -> Self {
        Self::Prefix(Prefix::default())
    }
}

/// The last characters of a line's prefix.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Prefix {
    /// A blank, or the start of the line.
    #[default]
    Blank,
    /// This many digits, maybe of `1. ` or `1) `.
    Digits { digits: usize, is_one: bool },
    /// The end of a list marker of this width if a blank follows.
    Marker { width: usize, may_interrupt: bool },
    /// Blanks after a list marker.
    AfterMarker { interrupts: bool },
}

/// Position in a fence's first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Info {
    Marks,
    BeforeTag,
    Tag,
    AfterTag,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Rule {
    #[default]
    None,
    /// This mark, so often, in so many containers.
    Marks { mark: char, count: usize, containers: usize },
}

impl Fences {
    /// Creates a scanner within a fence.
    pub(super) fn within_fence() -> Self {
        let fence = Fence { mark: '`', length: 3, at: 0, tag: 0..0 };
        Self { leaf: Leaf::Fence(fence), ..Self::default() }
    }

    /// Takes the next character and returns the part of the line that it belongs to.
    pub(super) fn take(&mut self, c: char, at: usize) -> Part {
        self.take_rule(c);
        let part = match &mut self.position {
            Position::Prefix(prefix) => {
                let prefix = *prefix;
                self.take_prefix(prefix, c, at)
            }
            Position::Opening { .. } => self.take_opening(c, at),
            Position::Closing { marks, has_ended } => {
                match &self.leaf {
                    Leaf::Fence(fence) if c == fence.mark && !*has_ended => *marks += 1,
                    _ if c.is_whitespace() => *has_ended = true,
                    _ => self.position = Position::Content,
                }
                CONTENT
            }
            Position::Content => CONTENT,
        };
        if c == '\n' {
            self.end_line(at + 1);
        }
        part
    }

    /// True within a fence, up to the end of its last line.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.leaf, Leaf::Fence(_))
    }

    /// Returns the positions of the open fence's first mark and of its tag.
    pub(super) fn opening(&self) -> Option<(usize, Range<usize>)> {
        match &self.leaf {
            Leaf::Fence(fence) => Some((fence.at, fence.tag.clone())),
            _ => None,
        }
    }

    /// Returns the start of the text to hold back: the tag of a fence that may open, or the indentation of a line.
    pub(super) fn held_from(&self) -> Option<usize> {
        match &self.position {
            Position::Prefix(Prefix::Blank | Prefix::AfterMarker { .. }) if !self.continues_fence() => {
                Some(self.containers.end())
            }
            _ => self.opening_tag_start(),
        }
    }

    /// Returns the start of the tag of a fence that may open.
    pub(super) fn opening_tag_start(&self) -> Option<usize> {
        match &self.position {
            Position::Opening { fence, .. } if fence.length >= 3 => Some(fence.tag.start),
            _ => None,
        }
    }

    /// Returns the position at which the line's containers end and its indentation begins.
    pub(super) fn line_start(&self) -> usize {
        self.containers.end()
    }

    /// Returns the number of containers that the line is in, and the prefix that continues them on a new line.
    pub(super) fn continuation(&self) -> (usize, String) {
        (self.containers.matched(), self.containers.continuation())
    }

    /// True if the text so far ends in a fence.
    pub(super) fn ends_open(&self) -> bool {
        self.is_open() && !self.closes()
    }

    /// Continues after a block that was put into a fence, within so many containers.
    pub(super) fn end_block(&mut self, containers: usize) {
        self.containers.truncate(containers);
        (self.leaf, self.position, self.rule) = (Leaf::None, Position::Content, Rule::None);
    }

    /// Begins a line in the same containers.
    pub(super) fn continue_line(&mut self, at: usize) {
        self.end_line(at);
        self.containers.match_all();
    }

    /// True if the line is one of the open fence.
    fn continues_fence(&self) -> bool {
        self.is_open() && self.containers.is_matched()
    }

    fn closes(&self) -> bool {
        match (&self.position, &self.leaf) {
            (Position::Closing { marks, .. }, Leaf::Fence(fence)) => *marks >= fence.length,
            _ => false,
        }
    }

    fn take_rule(&mut self, c: char) {
        let may_begin = match self.position {
            Position::Prefix(Prefix::Blank) => self.containers.indent() <= 3 && !self.continues_fence(),
            Position::Prefix(Prefix::AfterMarker { .. }) => self.containers.indent() <= 4,
            _ => false,
        };
        self.rule = match self.rule {
            rule if c.is_whitespace() => rule,
            Rule::Marks { mark, count, containers } if c == mark => {
                Rule::Marks { mark, count: count + 1, containers }
            }
            _ if may_begin && matches!(c, '-' | '*' | '_') => {
                Rule::Marks { mark: c, count: 1, containers: self.containers.matched() }
            }
            _ => Rule::None,
        };
    }

    fn take_prefix(&mut self, prefix: Prefix, c: char, at: usize) -> Part {
        match (prefix, c) {
            (Prefix::Digits { digits, .. }, '0'..='9') if digits < 9 => {
                self.position = Position::Prefix(Prefix::Digits { digits: digits + 1, is_one: false });
                return Part::Prefix;
            }
            (Prefix::Digits { digits, is_one }, '.' | ')') => {
                let marker = Prefix::Marker { width: digits + 1, may_interrupt: is_one };
                self.position = Position::Prefix(marker);
                return Part::Prefix;
            }
            (Prefix::Digits { digits, .. }, _) => return self.start_text(c, digits),
            (Prefix::Marker { width, may_interrupt }, ' ' | '\t' | '\r' | '\n') => {
                let interrupts = self.leaf == Leaf::Paragraph && self.containers.is_matched();
                if interrupts && !may_interrupt {
                    return self.start_text(c, width);
                }
                self.leaf = Leaf::None;
                self.containers.push_item(width, at);
                self.position = Position::Prefix(Prefix::AfterMarker { interrupts });
            }
            (Prefix::Marker { width, .. }, _) => return self.start_text(c, width),
            (Prefix::AfterMarker { .. }, _) if !c.is_whitespace() => {
                self.containers.resolve_item(at);
                self.position = Position::Prefix(Prefix::Blank);
            }
            (Prefix::AfterMarker { .. } | Prefix::Blank, _) => {}
        }
        self.take_blank(c, at)
    }

    /// Takes a character after a blank, or at the start of the line.
    fn take_blank(&mut self, c: char, at: usize) -> Part {
        let is_indented = self.containers.indent() > 3;
        match c {
            '\n' => return CONTENT,
            ' ' | '\t' => self.containers.take_blank(c, at),
            '\r' => {}
            '\u{feff}' if at == 0 => {}
            _ if self.continues_fence() => {
                let is_mark = matches!(&self.leaf, Leaf::Fence(fence) if fence.mark == c);
                self.position = if is_mark && !is_indented {
                    Position::Closing { marks: 1, has_ended: false }
                } else {
                    Position::Content
                };
                return Part::Content { marker: 0, is_first: true };
            }
            _ if is_indented => return self.start_text(c, 0),
            '>' => {
                if !self.containers.take_quote(at) {
                    self.leaf = Leaf::None;
                    self.containers.push_quote(at);
                }
            }
            '-' | '+' | '*' => {
                let marker = Prefix::Marker { width: 1, may_interrupt: true };
                self.position = Position::Prefix(marker);
            }
            '0'..='9' => {
                self.position = Position::Prefix(Prefix::Digits { digits: 1, is_one: c == '1' });
            }
            '`' | '~' => {
                // A fence in a container ends with it.
                if self.is_open() {
                    self.leaf = Leaf::None;
                }
                let tag = at + 1..at + 1;
                let fence = Fence { mark: c, length: 1, at, tag };
                self.position = Position::Opening { fence, info: Info::Marks };
            }
            _ => return self.start_text(c, 0),
        }
        Part::Prefix
    }

    /// Starts a line's text, with the last `marker` bytes before the character.
    fn start_text(&mut self, c: char, marker: usize) -> Part {
        self.position = Position::Content;
        self.continues_paragraph = self.leaf == Leaf::Paragraph && self.containers.is_matched();
        let is_indented = self.containers.indent() > 3;
        let is_lazy = self.leaf == Leaf::Paragraph && !self.containers.is_matched();
        let is_heading = c == '#' && marker == 0 && !is_indented;
        if !is_lazy || is_heading {
            if self.containers.close_unmatched() || is_heading {
                self.leaf = Leaf::None;
            }
            if self.leaf == Leaf::None && !is_indented && !is_heading {
                self.leaf = Leaf::Paragraph;
            }
        }
        Part::Content { marker, is_first: true }
    }

    fn take_opening(&mut self, c: char, at: usize) -> Part {
        let Position::Opening { fence, info } = &mut self.position else { return CONTENT };
        if *info == Info::Marks && c == fence.mark {
            fence.length += 1;
            fence.tag = at + 1..at + 1;
            return Part::Prefix;
        }
        if fence.length < 3 || c == '`' && fence.mark == '`' {
            self.start_text(c, 0);
            return CONTENT;
        }
        *info = match *info {
            Info::Tag | Info::AfterTag if c.is_whitespace() => Info::AfterTag,
            Info::AfterTag => Info::AfterTag,
            Info::Marks | Info::BeforeTag if c.is_whitespace() => Info::BeforeTag,
            Info::Tag => {
                fence.tag.end = at + c.len_utf8();
                Info::Tag
            }
            Info::Marks | Info::BeforeTag => {
                fence.tag = at..at + c.len_utf8();
                Info::Tag
            }
        };
        Part::Prefix
    }

    fn end_line(&mut self, next: usize) {
        match std::mem::take(&mut self.position) {
            Position::Prefix(Prefix::AfterMarker { interrupts: true }) => {
                // An item without content doesn't interrupt a paragraph.
                self.containers.pop_item();
                (self.leaf, self.continues_paragraph) = (Leaf::Paragraph, true);
            }
            Position::Prefix(Prefix::AfterMarker { interrupts: false }) => self.containers.empty_item(),
            Position::Prefix(_) => {
                let is_closed = self.containers.take_blank_line();
                if is_closed || !self.is_open() {
                    self.leaf = Leaf::None;
                }
            }
            Position::Opening { fence, .. } => {
                self.containers.close_unmatched();
                self.leaf = Leaf::Fence(fence);
            }
            Position::Closing { marks, .. } => {
                if matches!(&self.leaf, Leaf::Fence(fence) if marks >= fence.length) {
                    self.leaf = Leaf::None;
                }
            }
            Position::Content => {}
        }
        let continues_paragraph = std::mem::take(&mut self.continues_paragraph);
        match std::mem::take(&mut self.rule) {
            Rule::Marks { count: 3.., containers, .. } => {
                self.containers.truncate(containers);
                self.leaf = Leaf::None;
            }
            // A heading is underlined.
            Rule::Marks { mark: '-', .. } if continues_paragraph => self.leaf = Leaf::None,
            Rule::Marks { .. } | Rule::None => {}
        }
        self.containers.start_line(next);
    }
}

#[cfg(test)]
mod tests;
