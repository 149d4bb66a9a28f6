//! Splits Markdown, preferably at headings. Each chunk has the heading above it.

use text_splitter::MarkdownSplitter;

use super::chunk::{ChunkLength, Split, chunk};
use super::line_index::LineIndex;

/// A heading with its parents: `Set-up > On Linux`.
struct Heading {
    line: u32,
    path: String,
}

pub(super) fn split(text: &str, lines: &LineIndex, length: ChunkLength) -> Split {
    let headings = headings(text);
    let splitter = MarkdownSplitter::new(length.config());
    let chunks = splitter.chunk_indices(text).filter_map(|(begin, part)| {
        let mut chunk = chunk(text, begin..begin + part.len(), lines)?;
        // A chunk that begins with a heading belongs to that heading.
        let above = headings.partition_point(|heading| heading.line <= chunk.line_start);
        let above = above.checked_sub(1).and_then(|above| headings.get(above));
        chunk.section = above.map(|heading| heading.path.clone());
        Some(chunk)
    });
    let chunks = chunks.collect();
    Split { title: headings.first().map(|heading| heading.path.clone()), chunks }
}

fn headings(text: &str) -> Vec<Heading> {
    let mut headings = Vec::new();
    // The current heading of each depth.
    let mut open: Vec<(usize, &str)> = Vec::new();
    let mut fence: Option<&str> = None;
    for (line, number) in text.lines().zip(1_u32..) {
        let trimmed = line.trim_start();
        let marker = ["```", "~~~"].into_iter().find(|marker| trimmed.starts_with(marker));
        match (fence, marker) {
            (None, Some(marker)) => fence = Some(marker),
            (Some(open), Some(marker)) if open == marker => fence = None,
            _ => {}
        }
        if fence.is_some() {
            continue;
        }
        let depth = line.len() - line.trim_start_matches('#').len();
        if let (1..=6, Some(title)) = (depth, line.get(depth..).and_then(|rest| rest.strip_prefix(' '))) {
            open.retain(|(above, _)| *above < depth);
            open.push((depth, title.trim().trim_end_matches('#').trim_end()));
            let path: Vec<&str> = open.iter().map(|(_, title)| *title).collect();
            headings.push(Heading { line: number, path: path.join(" > ") });
        }
    }
    headings
}
