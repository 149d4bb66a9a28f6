//! Splits Markdown, preferably at headings. Each chunk has the heading above it.

use super::boundary::{Boundary, cut};
use super::chunk::{ChunkLength, Split, chunk, limit_name};
use super::line_index::LineIndex;

/// The levels of boundaries that are not headings, whose levels are 1 to 6.
const BLOCK: usize = 7;
const ITEM: usize = 8;
const LINE: usize = 9;
const BLOCK_OF_CODE: usize = 10;
const LINE_OF_CODE: usize = 11;

/// A heading.
struct Heading<'a> {
    /// Its line, from 1.
    line: u32,
    depth: usize,
    title: &'a str,
    /// The index of the heading that it is part of.
    parent: Option<usize>,
}

/// The headings and boundaries of a document, each in order.
#[derive(Default)]
struct Outline<'a> {
    headings: Vec<Heading<'a>>,
    boundaries: Vec<Boundary>,
}

pub(super) fn split(text: &str, lines: &LineIndex, length: ChunkLength) -> Split {
    let outline = Outline::new(text);
    let chunks = cut(text, &outline.boundaries, length).into_iter().filter_map(|range| {
        let mut chunk = chunk(text, range, lines)?;
        // A chunk that begins with a heading belongs to that heading.
        let above = outline.headings.partition_point(|heading| heading.line <= chunk.line_start);
        chunk.section = above.checked_sub(1).map(|above| outline.path(above));
        Some(chunk)
    });
    let chunks = chunks.collect();
    Split { title: outline.headings.first().map(|first| first.title.to_owned()), chunks, fallback: None }
}

impl<'a> Outline<'a> {
    fn new(text: &'a str) -> Self {
        let mut outline = Self::default();
        let mut fence: Option<&str> = None;
        let (mut byte, mut follows_blank) = (0, true);
        for (line, number) in text.split_inclusive('\n').zip(1_u32..) {
            let trimmed = line.trim();
            let marker = ["```", "~~~"].into_iter().find(|marker| trimmed.starts_with(marker));
            let heading = if fence.is_none() { heading(line) } else { None };
            let level = match (heading, fence) {
                (Some((depth, _)), _) => depth,
                (None, Some(_)) if follows_blank => BLOCK_OF_CODE,
                (None, Some(_)) => LINE_OF_CODE,
                (None, None) if follows_blank => BLOCK,
                (None, None) if is_item(trimmed) => ITEM,
                (None, None) => LINE,
            };
            if !trimmed.is_empty() {
                outline.boundaries.push(Boundary { byte, level });
            }
            if let Some((depth, title)) = heading {
                let parent = outline.ancestor(depth);
                outline.headings.push(Heading { line: number, depth, title, parent });
            }
            fence = match (fence, marker) {
                (None, marker) => marker,
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
    fn path(&self, heading: usize) -> String {
        let heading = self.headings.get(heading);
        let parents = std::iter::successors(heading, |heading| self.headings.get(heading.parent?));
        let mut titles: Vec<&str> = parents.map(|heading| heading.title).collect();
        titles.reverse();
        titles.join(" > ")
    }
}

/// Returns the depth and the title of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let depth = line.len() - line.trim_start_matches('#').len();
    let title = line.get(depth..)?.strip_prefix(' ')?;
    let title = limit_name(title.trim().trim_end_matches('#').trim_end());
    (1..=6).contains(&depth).then_some((depth, title))
}

/// Returns true for an item of a list.
fn is_item(line: &str) -> bool {
    let is_bullet = ["- ", "* ", "+ "].iter().any(|bullet| line.starts_with(bullet));
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    is_bullet || rest.len() < line.len() && rest.starts_with(". ")
}
