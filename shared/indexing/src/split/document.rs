//! Splits documents, preferably at headings. Each chunk has the headings above it.

use super::boundary::cut;
use super::chunk::{ChunkLength, Split, chunk};
use super::line_index::LineIndex;
use super::outline::{Markup, Outline};

pub(super) fn split(text: &str, markup: Markup, lines: &LineIndex, length: ChunkLength) -> Split {
    let outline = Outline::new(text, markup);
    let chunks = cut(text, &outline.boundaries, length).into_iter().filter_map(|range| {
        let mut chunk = chunk(text, range, lines)?;
        // A chunk that begins with a heading, perhaps behind the front matter, belongs to that heading.
        let begins = chunk.line_start.max(outline.first_line);
        let above = outline.headings.partition_point(|heading| heading.line <= begins);
        chunk.section = above.checked_sub(1).map(|above| outline.path(above));
        Some(chunk)
    });
    let chunks = chunks.collect();
    let first = outline.headings.first().map(|first| first.title.clone());
    Split { title: outline.title.or(first), chunks, fallback: None }
}
