//! Splits the Markdown of a document with pages, slides or sheets. No chunk is on two of them.

use super::chunk::{ChunkLength, Split};
use super::document;
use super::line_index::LineIndex;
use super::outline::Markup;

/// The beginning of a page's heading. Headings of its text are deeper.
const HEADING: &str = "## ";

pub(super) fn split(text: &str, length: ChunkLength) -> Split {
    let mut whole = Split { title: None, chunks: Vec::new(), fallback: None };
    let mut lines_before = 0;
    for part in parts(text) {
        let mut split = document::split(part, Markup::Markdown, &LineIndex::new(part), length);
        match part.strip_prefix(HEADING) {
            None => whole.title = split.title,
            Some(heading) => split.chunks.iter_mut().for_each(|chunk| chunk.page = page(heading)),
        }
        for chunk in &mut split.chunks {
            chunk.line_start += lines_before;
            chunk.line_end += lines_before;
        }
        whole.chunks.append(&mut split.chunks);
        lines_before += u32::try_from(part.lines().count()).unwrap_or(u32::MAX);
    }
    whole
}

/// Returns the text before the first page, and each page.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    let mut begins = vec![0];
    for line in text.split_inclusive('\n') {
        if line.starts_with(HEADING) && at > 0 {
            begins.push(at);
        }
        at += line.len();
    }
    let ends = begins.clone().into_iter().skip(1).chain([text.len()]);
    begins
        .into_iter()
        .zip(ends)
        .filter_map(|(begin, end)| text.get(begin..end))
        .filter(|part| !part.is_empty())
}

/// Returns the number of a page or a slide, from its heading. Sheets have names.
fn page(heading: &str) -> Option<u32> {
    let rest = ["Page ", "Slide "].into_iter().find_map(|kind| heading.strip_prefix(kind))?;
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    rest.get(..digits)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chunk_is_on_one_page() {
        let text = "# Handbook\n\n## Page 1\n\nBadges.\n\n## Page 2\n\n### Doors\n\nThe north door.\n";
        let split = split(text, ChunkLength::default());
        assert_eq!(split.title.as_deref(), Some("Handbook"));
        let found: Vec<_> =
            split.chunks.iter().map(|chunk| (chunk.page, chunk.line_start, chunk.line_end)).collect();
        assert_eq!(found, [(None, 1, 1), (Some(1), 3, 5), (Some(2), 7, 11)]);
        assert_eq!(split.chunks[2].section.as_deref(), Some("Page 2"));
        assert_eq!(page("Slide 12: Doors"), Some(12));
        assert_eq!(page("Sheet 1: Costs"), None);
    }
}
