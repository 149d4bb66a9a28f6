//! Finds the headings and boundaries of a document, by its markup.

use super::boundary::Boundary;
use super::chunk::limit_name;

/// The levels of boundaries that are not headings, whose levels are 1 to 6.
const BLOCK: usize = 7;
const ITEM: usize = 8;
const LINE: usize = 9;
const BLOCK_OF_CODE: usize = 10;
const LINE_OF_CODE: usize = 11;

/// The maximum depth of a heading.
const MAX_DEPTH: usize = 6;

/// The rules of a document's headings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Markup {
    Markdown,
    ReStructuredText,
    AsciiDoc,
}

/// A heading.
pub(super) struct Heading {
    /// Its line, from 1.
    pub(super) line: u32,
    depth: usize,
    pub(super) title: String,
    /// The index of the heading that it is part of.
    parent: Option<usize>,
}

/// The headings and boundaries of a document, each in order.
#[derive(Default)]
pub(super) struct Outline {
    pub(super) headings: Vec<Heading>,
    pub(super) boundaries: Vec<Boundary>,
    /// The title in the document's front matter.
    pub(super) title: Option<String>,
    /// The first line with text behind the front matter, from 1.
    pub(super) first_line: u32,
}

impl Outline {
    pub(super) fn new(text: &str, markup: Markup) -> Self {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut outline = Self::default();
        let front_matter = if markup == Markup::Markdown { front_matter(&lines) } else { 0 };
        outline.title = lines.iter().take(front_matter).find_map(|line| {
            let title = line.strip_prefix("title:")?.trim().trim_matches(['"', '\'']);
            Some(limit_name(title).to_owned()).filter(|title| !title.is_empty())
        });
        let mut styles = Vec::new();
        let mut fence: Option<&str> = None;
        let (mut byte, mut follows_blank, mut heading_lines) = (0, true, 0_usize);
        for (index, (line, number)) in lines.iter().zip(1_u32..).enumerate() {
            let trimmed = line.trim();
            let is_text = fence.is_none() && index >= front_matter && heading_lines == 0;
            let heading = match is_text {
                true => heading(&lines, index, follows_blank, markup, &mut styles),
                false => None,
            };
            // Literal blocks of reStructuredText are indented.
            let is_code =
                fence.is_some() || markup == Markup::ReStructuredText && line.starts_with([' ', '\t']);
            let level = match &heading {
                Some((depth, ..)) => *depth,
                None if is_code && follows_blank => BLOCK_OF_CODE,
                None if is_code || index < front_matter => LINE_OF_CODE,
                None if heading_lines > 0 => LINE_OF_CODE,
                None if follows_blank => BLOCK,
                None if is_item(trimmed) => ITEM,
                None => LINE,
            };
            if !trimmed.is_empty() && index >= front_matter && outline.first_line == 0 {
                outline.first_line = number;
            }
            if !trimmed.is_empty() {
                outline.boundaries.push(Boundary { byte, level });
            }
            heading_lines = heading_lines.saturating_sub(1);
            if let Some((depth, title, rest)) = heading {
                let parent = outline.ancestor(depth);
                outline.headings.push(Heading { line: number, depth, title, parent });
                heading_lines = rest;
            }
            fence = match (fence, fence_of(trimmed, markup)) {
                (None, marker) if is_text => marker,
                (Some(open), Some(marker)) if open == marker => None,
                (open, _) => open,
            };
            follows_blank = trimmed.is_empty();
            byte += line.len();
        }
        outline
    }

    /// Returns the last heading if it is above this depth, or else the one that it is part of, and so on.
    fn ancestor(&self, depth: usize) -> Option<usize> {
        let mut index = self.headings.len().checked_sub(1)?;
        while self.headings.get(index)?.depth >= depth {
            index = self.headings.get(index)?.parent?;
        }
        Some(index)
    }

    /// Returns the titles of a heading and its parents: `Set-up > On Linux`.
    pub(super) fn path(&self, heading: usize) -> String {
        let heading = self.headings.get(heading);
        let parents = std::iter::successors(heading, |heading| self.headings.get(heading.parent?));
        let mut titles: Vec<&str> = parents.map(|heading| heading.title.as_str()).collect();
        titles.reverse();
        titles.join(" > ")
    }
}

/// Returns true for a text with the headings of reStructuredText, which many projects keep in `.txt` files.
pub(super) fn is_restructured(text: &str) -> bool {
    let is_directive = |line: &str| line.starts_with(".. ") && line.contains("::");
    text.lines().any(is_directive) && !Outline::new(text, Markup::ReStructuredText).headings.is_empty()
}

/// Returns the depth and the title of the heading that begins at a line, and the number of its further lines. `styles` are the
/// adornments of reStructuredText in the order of their first use, which is the order of their depths.
fn heading(
    lines: &[&str],
    index: usize,
    follows_blank: bool,
    markup: Markup,
    styles: &mut Vec<(char, bool)>,
) -> Option<(usize, String, usize)> {
    let line = |offset: usize| lines.get(index + offset).map(|line| line.trim_end()).unwrap_or_default();
    let named = |title: &str| limit_name(title.trim()).to_owned();
    match markup {
        Markup::AsciiDoc => prefixed(line(0), '=').map(|(depth, title)| (depth, named(title), 0)),
        Markup::Markdown => {
            if let Some((depth, title)) = prefixed(line(0), '#') {
                return Some((depth, named(title.trim_end_matches('#')), 0));
            }
            let depth = match adornment(line(1).trim_start()) {
                Some('=') => 1,
                Some('-') => 2,
                _ => return None,
            };
            let is_paragraph = follows_blank
                && line(0).starts_with(|c: char| !c.is_whitespace() && !matches!(c, '>' | '|' | '<'))
                && !is_item(line(0))
                && adornment(line(0)).is_none();
            is_paragraph.then(|| (depth, named(line(0)), 1))
        }
        Markup::ReStructuredText => {
            let overline = adornment(line(0));
            let (title, underline, rest) = match overline {
                Some(_) => (line(1), line(2), 2),
                None => (line(0), line(1), 1),
            };
            let style = (adornment(underline)?, overline.is_some());
            let is_title = !title.trim().is_empty()
                && adornment(title).is_none()
                && (overline.is_some() || !title.starts_with(char::is_whitespace))
                && overline.is_none_or(|overline| overline == style.0)
                && underline.chars().count() >= title.trim().chars().count();
            if !is_title {
                return None;
            }
            let place = styles.iter().position(|known| *known == style).unwrap_or_else(|| {
                styles.push(style);
                styles.len() - 1
            });
            Some(((place + 1).min(MAX_DEPTH), named(title), rest))
        }
    }
}

/// Returns the depth and the title of a heading that begins with marks: `## Title`.
fn prefixed(line: &str, mark: char) -> Option<(usize, &str)> {
    let depth = line.len() - line.trim_start_matches(mark).len();
    let title = line.get(depth..)?.strip_prefix(' ')?;
    (1..=MAX_DEPTH).contains(&depth).then_some((depth, title))
}

/// Returns the character of a line that underlines a title: several of one punctuation mark.
fn adornment(line: &str) -> Option<char> {
    let first = line.chars().next().filter(char::is_ascii_punctuation)?;
    (line.len() > 1 && line.chars().all(|c| c == first)).then_some(first)
}

/// Returns the mark of a line that opens or closes a block of code.
fn fence_of(line: &str, markup: Markup) -> Option<&'static str> {
    let marks: &[&'static str] = match markup {
        Markup::Markdown => &["```", "~~~"],
        Markup::AsciiDoc => &["----", "....", "```"],
        Markup::ReStructuredText => &[],
    };
    marks.iter().find(|mark| line.starts_with(**mark)).copied()
}

/// Returns the number of lines of a YAML front matter.
fn front_matter(lines: &[&str]) -> usize {
    let is_mark = |line: &&str| line.trim_end() == "---";
    if !lines.first().is_some_and(is_mark) {
        return 0;
    }
    lines.iter().skip(1).position(is_mark).map_or(0, |end| end + 2)
}

/// Returns true for an item of a list.
fn is_item(line: &str) -> bool {
    let is_bullet = ["- ", "* ", "+ "].iter().any(|bullet| line.starts_with(bullet));
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    is_bullet || rest.len() < line.len() && rest.starts_with(". ")
}
