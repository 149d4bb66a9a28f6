//! Where a Markdown text is fenced, by CommonMark's rules for fenced code blocks.
//!
//! A fence is opened by three or more backticks or tildes, closed by at least as many of the same,
//! and an unclosed one reaches to the end of the text. Fences in block quotes and lists count. In one
//! thing this is more generous than CommonMark: within a list a fence may be indented by any amount,
//! since the width of the list's markers is not tracked.
//!
//! The text is taken one character at a time, each once. What is carried from line to line is the open
//! fence and whether a list is; within a line, how far its beginning is read. Only a line whose own text
//! begins with marks is undecided for a while: backticks may turn out to be inline code, up to the line's
//! end. What may stand before the own text embeds nothing, so that it need not wait for the decision.

/// What opened a fence, until it is closed.
#[derive(Debug, Clone, Copy)]
struct Open {
    mark: char,
    length: usize,
    quotes: usize,
    in_list: bool,
}

/// What is known of a character's line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// Up to here it lies outside of every fence, or it holds nothing but marks of quotes and lists.
    Unfenced,
    /// It lies within a fence, with its marks.
    Fenced,
    /// Its marks may open a fence.
    Undecided,
}

/// Reads a text for its fences.
#[derive(Debug, Default)]
pub(super) struct Fences {
    open: Option<Open>,
    in_list: bool,
    within: Within,
    closing: Closing,
}

/// Where in its line the next character stands.
#[derive(Debug)]
enum Within {
    /// In what stands before the line's own text.
    Start(LineStart),
    /// In a line whose marks open a fence if there are enough of them; after them, maybe.
    Opening { open: Open, in_info: bool },
    /// In a line outside of every fence.
    Prose,
    /// In a line within a fence.
    Fenced,
}

impl Default for Within {
    fn default() -> Self {
        Self::Start(LineStart::default())
    }
}

impl Fences {
    /// Takes the next character.
    pub(super) fn take(&mut self, c: char) -> Line {
        if let Some(open) = self.open {
            self.closing.take(c, open);
        }
        let line = match &mut self.within {
            Within::Start(start) => match start.take(c) {
                None => self.within_start(),
                Some(own) => self.own_text(own, c),
            },
            Within::Opening { .. } => self.opening(c),
            Within::Prose => Line::Unfenced,
            Within::Fenced => Line::Fenced,
        };
        if c == '\n' {
            self.next_line();
        }
        line
    }

    /// Whether the next character is the first of a line, outside of every fence.
    pub(super) fn begins_line(&self) -> bool {
        self.open.is_none() && matches!(&self.within, Within::Start(start) if start.is_new())
    }

    /// The text is at its end: what its last line is, if that was undecided.
    pub(super) fn end(&self) -> Line {
        match self.within {
            Within::Opening { open, .. } if open.length >= 3 => Line::Fenced,
            Within::Fenced => Line::Fenced,
            _ => Line::Unfenced,
        }
    }

    /// A fence that was opened within quotes goes on where the line has as many.
    fn within_start(&mut self) -> Line {
        match (&self.within, self.open) {
            (Within::Start(start), Some(open)) if start.quotes >= open.quotes => {
                self.within = Within::Fenced;
                Line::Fenced
            }
            _ => Line::Unfenced,
        }
    }

    /// The line's own text begins, no later than with `c`.
    fn own_text(&mut self, own: Own, c: char) -> Line {
        let Within::Start(start) = std::mem::take(&mut self.within) else { return Line::Unfenced };
        // A fence that was opened within a quote ends with the quote.
        self.open = None;
        if start.is_item {
            self.in_list = true;
        } else if start.indent == 0 && own != Own::Nothing {
            self.in_list = false;
        }
        let is_code = start.indent > 3 && !self.in_list;
        if own == Own::Marks && !is_code {
            let open = Open { mark: c, length: 1, quotes: start.quotes, in_list: self.in_list };
            self.within = Within::Opening { open, in_info: false };
            return Line::Undecided;
        }
        self.within = Within::Prose;
        Line::Unfenced
    }

    fn opening(&mut self, c: char) -> Line {
        let Within::Opening { open, in_info } = &mut self.within else { return Line::Unfenced };
        if !*in_info && c == open.mark {
            open.length += 1;
        } else {
            let is_inline = open.mark == '`' && *in_info && c == '`';
            if open.length < 3 || is_inline {
                self.within = Within::Prose;
                return Line::Unfenced;
            }
            *in_info = true;
        }
        let is_decided = c == '\n' || open.mark == '~';
        if open.length >= 3 && is_decided { Line::Fenced } else { Line::Undecided }
    }

    fn next_line(&mut self) {
        match (&self.within, self.open) {
            // One of fewer marks is prose by now.
            (Within::Opening { open, .. }, _) => self.open = Some(*open),
            (Within::Fenced, Some(open)) if self.closing.closes(open) => self.open = None,
            _ => {}
        }
        self.closing = Closing::default();
        self.within = match self.open {
            Some(Open { quotes: 0, .. }) => Within::Fenced,
            _ => Within::default(),
        };
    }
}

/// What stands before a line's own text: blanks, quotes, markers of items.
#[derive(Debug, Default)]
struct LineStart {
    quotes: usize,
    is_item: bool,
    /// How far what follows the last quote or marker is indented.
    indent: usize,
    part: Part,
}

/// What the last character of a line's start was.
#[derive(Debug, Default, Clone, Copy)]
enum Part {
    /// A blank, or what a blank may follow.
    #[default]
    Blank,
    /// The `>` of a quote, to which a blank belongs.
    Quote,
    /// So many digits, maybe of `1. ` or `1) `.
    Digits(usize),
    /// The end of a marker if a blank follows.
    Marker,
    /// The first half of a line's end if that follows.
    Return,
}

/// How a line's own text begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Own {
    /// It ends at once.
    Nothing,
    /// With a backtick or a tilde.
    Marks,
    Prose,
}

impl LineStart {
    /// Takes the next character, until the line's own text begins.
    fn take(&mut self, c: char) -> Option<Own> {
        self.part = match (self.part, c) {
            (Part::Return, '\r') => Part::Return,
            (Part::Return | Part::Blank | Part::Quote, '\n') => return Some(Own::Nothing),
            (Part::Return, _) => return Some(Own::Prose),
            (Part::Quote, ' ') => Part::Blank,
            (Part::Blank | Part::Quote, _) => match c {
                ' ' => self.blank(1),
                '\t' => self.blank(4),
                '>' => {
                    self.quotes += 1;
                    self.indent = 0;
                    Part::Quote
                }
                '-' | '*' | '+' => Part::Marker,
                '0'..='9' => Part::Digits(1),
                '\r' => Part::Return,
                '`' | '~' => return Some(Own::Marks),
                _ => return Some(Own::Prose),
            },
            (Part::Digits(digits), '0'..='9') if digits < 9 => Part::Digits(digits + 1),
            (Part::Digits(_), '.' | ')') => Part::Marker,
            (Part::Marker, ' ' | '\t') => {
                self.is_item = true;
                self.indent = 0;
                Part::Blank
            }
            (Part::Digits(_) | Part::Marker, _) => return Some(Own::Prose),
        };
        None
    }

    /// Whether nothing of the line was taken.
    fn is_new(&self) -> bool {
        self.quotes == 0 && !self.is_item && self.indent == 0 && matches!(self.part, Part::Blank)
    }

    fn blank(&mut self, width: usize) -> Part {
        self.indent += width;
        Part::Blank
    }
}

/// Whether a line within a fence closes it.
#[derive(Debug, Default)]
struct Closing {
    quotes: usize,
    indent: usize,
    marks: usize,
    part: Before,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// The marks, as far as is known.
    #[default]
    Marks,
    /// The blank that belongs to a quote.
    Blank,
    /// The end: some of the marks were there.
    MoreMarks,
    /// The end: all of the marks were there.
    End,
    /// Nothing: this is some other line.
    Nothing,
}

impl Closing {
    fn take(&mut self, c: char, open: Open) {
        self.part = match self.part {
            Before::Blank if c == ' ' => Before::Marks,
            Before::Marks | Before::Blank if c.is_whitespace() => {
                self.indent += c.len_utf8();
                Before::Marks
            }
            Before::Marks | Before::Blank if c == '>' && self.quotes < open.quotes => {
                self.quotes += 1;
                self.indent = 0;
                Before::Blank
            }
            Before::Marks | Before::Blank | Before::MoreMarks if c == open.mark => {
                self.marks += 1;
                Before::MoreMarks
            }
            Before::MoreMarks | Before::End if c.is_whitespace() => Before::End,
            _ => Before::Nothing,
        };
    }

    fn closes(&self, open: Open) -> bool {
        self.part != Before::Nothing && self.marks >= open.length && (self.indent <= 3 || open.in_list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines outside of every fence, and what is known at the text's end.
    fn read(text: &str) -> (String, Line) {
        let (mut fences, mut outside) = (Fences::default(), String::new());
        for line in text.split_inclusive('\n') {
            let known = line.chars().map(|c| fences.take(c)).last().unwrap();
            let known = if line.ends_with('\n') { known } else { fences.end() };
            if known == Line::Unfenced {
                outside.push_str(line);
            }
        }
        (outside, fences.end())
    }

    fn outside(text: &str) -> String {
        read(text).0
    }

    #[test]
    fn backticks_and_tildes_fence_until_as_many_of_the_same() {
        assert_eq!(outside("a\n```json\nx\n```\nb"), "a\nb");
        assert_eq!(outside("a\n~~~\nx\n```\n~~\n~~~~ \nb"), "a\nb");
        assert_eq!(outside("````\nx\n```\ny\n````\nb"), "b");
        assert_eq!(outside("```\nx\n``` no\ny\n```\r\nb"), "b");
        assert_eq!(outside("   ```\nx\n   ```\nb"), "b");
    }

    #[test]
    fn what_looks_like_a_fence_and_is_none_stays_outside() {
        for text in ["``\nx\n``\n", "```a`b\nx\n", "    ```\nx\n", "a ```\nx\n", "~ ~ ~\nx"] {
            assert_eq!(outside(text), text);
        }
        assert_eq!(outside("```\nx\n    ```\ny"), "");
    }

    #[test]
    fn an_unclosed_fence_reaches_to_the_end() {
        assert_eq!(outside("a\n```\nx\n\ny"), "a\n");
        assert_eq!(read("```\n").1, Line::Fenced);
        assert_eq!(read("```\n```\n").1, Line::Unfenced);
    }

    #[test]
    fn a_fence_in_a_quote_ends_with_the_quote() {
        assert_eq!(outside("> ```\n> x\nb\n"), "b\n");
        assert_eq!(outside("> ```\n> x\n> ```\n> b\n"), "> b\n");
        assert_eq!(outside("> > ```\n> > x\n> b\n"), "> b\n");
    }

    #[test]
    fn a_fence_in_a_list_counts() {
        assert_eq!(outside("- ```\n  x\n  ```\n- b\n"), "- b\n");
        assert_eq!(outside("1. a\n\n       ```\n       x\n       ```\nb\n"), "1. a\n\nb\n");
        assert_eq!(outside("- a\n\nb\n    ```\nx\n"), "- a\n\nb\n    ```\nx\n");
    }
}
