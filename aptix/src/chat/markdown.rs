//! Lays out Markdown for a terminal: wraps text, and draws lists, tables and code.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use unicode_width::UnicodeWidthStr;

use crate::escape::escape_text;

const BOLD: &str = "\x1b[1m";
const ITALIC: &str = "\x1b[3m";
const STRUCK: &str = "\x1b[9m";
const CODE: &str = "\x1b[36m";
const RESET: &str = "\x1b[0m";

/// The narrowest column of a table that is wrapped.
const MIN_COLUMN: usize = 6;
/// Between the columns of a table.
const SEPARATOR: &str = " │ ";

/// Lays out Markdown at this width, and ends with a line break.
pub(crate) fn lay_out(text: &str, width: usize, has_colour: bool) -> String {
    let mut layout = Layout { width, has_colour, ..Layout::default() };
    for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        layout.event(event);
    }
    layout.end_line();
    if layout.out.is_empty() { "\n".to_owned() } else { layout.out }
}

/// A piece of text without line breaks.
#[derive(Clone)]
struct Span {
    text: String,
    style: String,
}

/// The layout so far.
#[derive(Default)]
struct Layout {
    width: usize,
    has_colour: bool,
    out: String,
    /// The open styles.
    styles: Vec<&'static str>,
    /// The text of the open line.
    line: Vec<Span>,
    /// What the lines of the open quotes and list items begin with.
    indents: Vec<String>,
    /// The bullet or number of an item that has no text yet. It replaces the item's indent.
    marker: Option<String>,
    /// The next numbers of the open lists; none where items have bullets.
    lists: Vec<Option<u64>>,
    /// True in a block of code, whose lines are not wrapped.
    is_code: bool,
    /// Addresses of the open links, and where their text begins in the line.
    links: Vec<(String, usize)>,
    /// The rows of the open table.
    table: Vec<Vec<Vec<Span>>>,
}

impl Layout {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.is_code => self.code(&text),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(text) => self.styled(CODE, |layout| layout.text(&text)),
            Event::HardBreak | Event::SoftBreak => self.end_line(),
            Event::Rule => {
                self.blank_line();
                self.out.push_str(&"─".repeat(self.width.min(40)));
                self.out.push('\n');
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.blank_line(),
            Tag::Heading { .. } => {
                self.blank_line();
                self.styles.push(BOLD);
            }
            Tag::Strong => self.styles.push(BOLD),
            Tag::Emphasis => self.styles.push(ITALIC),
            Tag::Strikethrough => self.styles.push(STRUCK),
            Tag::BlockQuote(_) => {
                self.blank_line();
                self.indents.push("▌ ".to_owned());
            }
            Tag::CodeBlock(kind) => {
                self.blank_line();
                self.is_code = true;
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    self.styled(ITALIC, |layout| layout.text(&language));
                    self.end_line();
                }
            }
            Tag::List(start) => {
                self.blank_line();
                self.lists.push(start);
            }
            Tag::Item => {
                self.end_line();
                let marker = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number = number.saturating_add(1);
                        format!("{}. ", number.saturating_sub(1))
                    }
                    _ => "• ".to_owned(),
                };
                self.indents.push(" ".repeat(marker.width()));
                self.marker = Some(marker);
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((escape_text(&dest_url), self.line.len()));
            }
            Tag::Table(_) => self.blank_line(),
            Tag::TableHead | Tag::TableRow => self.table.push(Vec::new()),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_line(),
            TagEnd::Heading(_) => {
                self.end_line();
                self.styles.pop();
            }
            TagEnd::Strong | TagEnd::Emphasis | TagEnd::Strikethrough => _ = self.styles.pop(),
            TagEnd::BlockQuote(_) => _ = self.indents.pop(),
            TagEnd::CodeBlock => self.is_code = false,
            TagEnd::List(_) => _ = self.lists.pop(),
            TagEnd::Item => {
                self.end_line();
                self.indents.pop();
                self.marker = None;
            }
            TagEnd::Link | TagEnd::Image => {
                let Some((address, start)) = self.links.pop() else { return };
                let shown: String = self.line.iter().skip(start).map(|span| span.text.as_str()).collect();
                if shown != address {
                    self.text(&format!(" ({address})"));
                }
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.line);
                self.table.last_mut().into_iter().for_each(|row| row.push(cell.clone()));
            }
            TagEnd::Table => self.end_table(),
            _ => {}
        }
    }

    /// Separates blocks. The items of a list follow each other.
    fn blank_line(&mut self) {
        self.end_line();
        if !self.out.is_empty() && self.lists.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    fn styled(&mut self, style: &'static str, write: impl FnOnce(&mut Self)) {
        self.styles.push(style);
        write(self);
        self.styles.pop();
    }

    /// Appends text. An entity such as `&#27;` can be a character that a terminal obeys, so it is escaped here too.
    fn text(&mut self, text: &str) {
        let style = if self.has_colour { self.styles.concat() } else { String::new() };
        for (at, part) in escape_text(text).split('\n').enumerate() {
            if at > 0 {
                self.end_line();
            }
            if !part.is_empty() {
                self.line.push(Span { text: part.to_owned(), style: style.clone() });
            }
        }
    }

    /// Appends lines of code as they are.
    fn code(&mut self, text: &str) {
        let code = if self.has_colour { (CODE, RESET) } else { ("", "") };
        for line in escape_text(text).lines() {
            let indent = self.indent();
            self.out.push_str(&format!("{indent}  {}{line}{}\n", code.0, code.1));
        }
    }

    /// Returns what the next line begins with.
    fn indent(&mut self) -> String {
        match (self.marker.take(), self.indents.split_last()) {
            (Some(marker), Some((_, outer))) => outer.concat() + &marker,
            _ => self.indents.concat(),
        }
    }

    /// Writes the open line, wrapped.
    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return;
        }
        let indent = self.indents.concat().width();
        for (wrapped, _) in wrap(&line, self.width.saturating_sub(indent)) {
            let indent = self.indent();
            self.out.push_str(&format!("{indent}{wrapped}\n"));
        }
    }

    /// Writes the table. The widest columns are wrapped until it fits.
    fn end_table(&mut self) {
        let rows = std::mem::take(&mut self.table);
        let mut widths: Vec<usize> = Vec::new();
        for row in &rows {
            widths.resize(widths.len().max(row.len()), 1);
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.iter().map(|span| span.text.width()).sum());
            }
        }
        let separators = SEPARATOR.width() * widths.len().saturating_sub(1);
        let room = self.width.saturating_sub(self.indents.concat().width() + separators);
        while widths.iter().sum::<usize>() > room {
            match widths.iter_mut().max() {
                Some(widest) if *widest > MIN_COLUMN => *widest -= 1,
                _ => break,
            }
        }
        for (at, row) in rows.iter().enumerate() {
            let cells: Vec<_> = row.iter().zip(&widths).map(|(cell, width)| wrap(cell, *width)).collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or_default();
            for line in 0..height {
                let parts = cells.iter().zip(&widths).map(|(cell, width)| {
                    let (text, used) = cell.get(line).map_or(("", 0), |(text, used)| (text.as_str(), *used));
                    format!("{text}{}", " ".repeat(width.saturating_sub(used)))
                });
                let parts: Vec<String> = parts.collect();
                let indent = self.indent();
                self.out.push_str(&format!("{indent}{}\n", parts.join(SEPARATOR).trim_end()));
            }
            if at == 0 {
                let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                let indent = self.indent();
                self.out.push_str(&format!("{indent}{}\n", rules.join("─┼─")));
            }
        }
    }
}

/// Wraps spans at spaces, and returns the lines with their widths. A longer word has a line of its own.
fn wrap(spans: &[Span], width: usize) -> Vec<(String, usize)> {
    let mut lines = vec![(String::new(), 0)];
    for span in spans {
        for word in span.text.split_inclusive(' ') {
            let visible = word.trim_end().width();
            if let Some((line, used)) = lines.last_mut()
                && (*used == 0 || *used + visible <= width)
            {
                push(line, &span.style, word);
                *used += word.width();
            } else {
                let mut line = String::new();
                push(&mut line, &span.style, word);
                lines.push((line, word.width()));
            }
        }
    }
    lines
}

fn push(line: &mut String, style: &str, word: &str) {
    let reset = if style.is_empty() { "" } else { RESET };
    line.push_str(&format!("{style}{word}{reset}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str, width: usize) -> String {
        let lines: Vec<String> =
            lay_out(text, width, false).lines().map(|line| line.trim_end().to_owned()).collect();
        lines.join("\n")
    }

    #[test]
    fn blocks_are_laid_out_without_marks() {
        let text = "# Title\n\nOne *two* **three** `four`.\nFive [six](http://h/).\n\n> seven\n\n```rust\nlet a;\n\nlet b;\n```\n\n---\n";
        assert_eq!(
            plain(text, 40),
            format!(
                "Title\n\nOne two three four.\nFive six (http://h/).\n\n▌ seven\n\nrust\n  let a;\n\n  let b;\n\n{}",
                "─".repeat(40)
            )
        );
    }

    #[test]
    fn lists_are_nested_numbered_and_wrapped_in_their_indent() {
        let text = "3. one two three\n4. four\n   - five six seven\n   - eight\n";
        assert_eq!(plain(text, 13), "3. one two\n   three\n4. four\n   • five six\n     seven\n   • eight");
    }

    #[test]
    fn table_fits_the_width() {
        let text = "| a | bb |\n|---|---|\n| one two three four | x |\n";
        assert_eq!(
            plain(text, 40),
            "a                  │ bb\n───────────────────┼───\none two three four │ x"
        );
        let narrow = plain(text, 15);
        assert!(narrow.lines().all(|line| line.width() <= 15), "{narrow}");
        assert!(narrow.contains("four"), "{narrow}");
    }

    #[test]
    fn colours_are_reset_and_entities_send_no_command() {
        assert_eq!(lay_out("**a**", 80, true), format!("{BOLD}a{RESET}\n"));
        assert_eq!(plain("&#27;[31m &#x202e;", 80), "\\u{1b}[31m \\u{202e}");
        assert_eq!(plain("[x](http://h/&#27;)", 80), "x (http://h/\\u{1b})");
    }

    #[test]
    fn plain_text_keeps_its_lines() {
        assert_eq!(plain("one\ntwo", 80), "one\ntwo");
        assert_eq!(lay_out("", 80, false), "\n");
    }
}
