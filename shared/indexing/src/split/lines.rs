//! Splits text without a known syntax by lines. Each chunk repeats the last lines of the one before, since no syntax
//! marks where one topic ends and the next begins.

use super::chunk::{Chunk, ChunkLength, Split, chunk};
use super::line_index::LineIndex;

/// The maximum number of lines that two chunks share.
const MAX_SHARED_LINES: usize = 2;
/// The maximum size of the shared lines, in bytes.
const MAX_SHARED_BYTES: usize = 200;

pub(super) fn split(text: &str, lines: &LineIndex, length: ChunkLength) -> Split {
    let mut chunks: Vec<Chunk> = Vec::new();
    let (mut from, mut at) = (0, 0);
    let mut last: Vec<usize> = Vec::new();
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        if end - from > length.0 && at > from {
            chunks.extend(chunk(text, from..at, lines));
            let shared = last.iter().rev().take(MAX_SHARED_LINES);
            from = shared.copied().filter(|begin| at - begin <= MAX_SHARED_BYTES).min().unwrap_or(at);
            // Drop the overlap if it would make the next chunk too long.
            if end - from > length.max() {
                from = at;
            }
            last.clear();
        }
        // A single line can be too long.
        while end - from > length.max() {
            let cut = text.floor_char_boundary(from + length.max());
            chunks.extend(chunk(text, from..cut, lines));
            from = cut;
        }
        last.push(at.max(from));
        at = end;
    }
    chunks.extend(chunk(text, from..at, lines));
    Split { title: None, chunks, fallback: None }
}
