//! Where a Markdown text is fenced, by CommonMark's rules for fenced code blocks.
//!
//! A fence is opened by three or more backticks or tildes, closed by at least as many of the same,
//! and an unclosed one reaches to the end of the text. Fences in block quotes and lists count. In one
//! thing this is more generous than CommonMark: within a list a fence may be indented by any amount,
//! since the width of the list's markers is not tracked.

use std::ops::Range;

/// What a line opened, until it is closed.
#[derive(Debug, Clone, Copy)]
struct Open {
    mark: char,
    length: usize,
    quotes: usize,
    in_list: bool,
}

/// Which parts of a text lie outside of every fence.
pub(super) struct Fences {
    /// The unfenced parts, in order, each of whole lines.
    pub(super) unfenced: Vec<Range<usize>>,
    /// Whether the text ends within a fence.
    pub(super) ends_open: bool,
    /// Whether the last line is unfinished and begins with backticks that open a fence unless another
    /// one follows.
    pub(super) ends_undecided: bool,
}

/// What a text has opened up to some place.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Scan {
    open: Option<Open>,
    in_list: bool,
    undecided: bool,
    /// The place is within a line that opens nothing.
    within_line: bool,
}

impl Scan {
    /// Whether the place lies within a fence.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// The same, further on in a line.
    pub(super) fn within_line(self) -> Self {
        Self { within_line: true, ..self }
    }

    /// Whether a line's beginning tells what the whole line opens: nothing, since its first word is one.
    pub(super) fn is_prose(&self, beginning: &str) -> bool {
        let words = LineStart::of(beginning).rest;
        let has_whole_word = words.trim_start().contains(' ');
        self.within_line || has_whole_word && !words.starts_with(['`', '~'])
    }

    /// Takes a line, or the rest of one; whether it lies outside of every fence.
    pub(super) fn line(&mut self, line: &str) -> bool {
        if std::mem::take(&mut self.within_line) {
            return true;
        }
        let start = LineStart::of(line);
        // A fence that was opened within a quote ends with the quote.
        self.open = self.open.filter(|open| start.quotes >= open.quotes);
        if let Some(current) = self.open {
            if current.is_closed_by(line) {
                self.open = None;
            }
            return false;
        }
        if start.is_item {
            self.in_list = true;
        } else if start.indent == 0 && !start.rest.is_empty() {
            self.in_list = false;
        }
        self.undecided = start.rest.starts_with("```") && !line.ends_with('\n');
        self.open = start.opens(self.in_list);
        self.open.is_none()
    }
}

impl Fences {
    /// Finds the fences of a text that goes on after `scan`.
    pub(super) fn after(mut scan: Scan, text: &str) -> Self {
        let mut unfenced: Vec<Range<usize>> = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let here = at..at + line.len();
            at = here.end;
            if !scan.line(line) {
                continue;
            }
            match unfenced.last_mut() {
                Some(last) if last.end == here.start => last.end = here.end,
                _ => unfenced.push(here),
            }
        }
        Self { unfenced, ends_open: scan.open.is_some(), ends_undecided: scan.undecided }
    }
}

/// What stands before a line's own text.
struct LineStart<'a> {
    quotes: usize,
    is_item: bool,
    indent: usize,
    rest: &'a str,
}

impl<'a> LineStart<'a> {
    fn of(line: &'a str) -> Self {
        let mut start =
            Self { quotes: 0, is_item: false, indent: 0, rest: line.trim_end_matches(['\r', '\n']) };
        loop {
            start.skip_blanks();
            if let Some(rest) = start.rest.strip_prefix('>') {
                start.quotes += 1;
                start.indent = 0;
                start.rest = rest.strip_prefix(' ').unwrap_or(rest);
            } else if let Some(rest) = after_item_marker(start.rest) {
                start.is_item = true;
                start.indent = 0;
                start.rest = rest;
            } else {
                return start;
            }
        }
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest.trim_start_matches([' ', '\t']);
        let blanks = self.rest.len() - rest.len();
        let tabs = self.rest.bytes().take(blanks).filter(|b| *b == b'\t').count();
        self.indent += blanks + 3 * tabs;
        self.rest = rest;
    }

    fn opens(&self, in_list: bool) -> Option<Open> {
        let mark = self.rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = self.rest.trim_start_matches(mark);
        let length = self.rest.len() - info.len();
        let is_inline = mark == '`' && info.contains('`');
        let is_code = self.indent > 3 && !in_list;
        (length >= 3 && !is_inline && !is_code).then_some(Open { mark, length, quotes: self.quotes, in_list })
    }
}

impl Open {
    fn is_closed_by(self, line: &str) -> bool {
        let mut rest = line.trim_end();
        let mut indent = leading_blanks(rest);
        for _ in 0..self.quotes {
            let Some(inner) = rest.trim_start().strip_prefix('>') else { break };
            rest = inner.strip_prefix(' ').unwrap_or(inner);
            indent = leading_blanks(rest);
        }
        let marks = rest.trim_start();
        marks.len() >= self.length && marks.chars().all(|c| c == self.mark) && (indent <= 3 || self.in_list)
    }
}

fn leading_blanks(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// What follows `- `, `* `, `+ `, `1. ` or `1) `.
fn after_item_marker(text: &str) -> Option<&str> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let marker = match digits {
        0 => text.strip_prefix(['-', '*', '+'])?,
        1..=9 => text.get(digits..)?.strip_prefix(['.', ')'])?,
        _ => return None,
    };
    marker.strip_prefix([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outside(text: &str) -> String {
        Fences::after(Scan::default(), text).unfenced.into_iter().map(|part| &text[part]).collect()
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
        assert!(Fences::after(Scan::default(), "```\n").ends_open);
        assert!(!Fences::after(Scan::default(), "```\n```").ends_open);
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
