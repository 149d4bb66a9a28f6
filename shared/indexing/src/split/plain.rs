//! Text of no known syntax: by its lines, each chunk with the last lines of the one before it, since nothing says
//! where one thing ends and another begins.

use super::position::Lines;
use super::{Chunk, Length, Split, chunk};

/// Lines that two chunks share, as far as they are short.
const SHARED_LINES: usize = 2;
/// What they may have together, in bytes.
const MOST_SHARED: usize = 200;

pub(super) fn split(text: &str, lines: &Lines, length: Length) -> Split {
    let mut chunks: Vec<Chunk> = Vec::new();
    let (mut from, mut at) = (0, 0);
    let mut last: Vec<usize> = Vec::new();
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        if end - from > length.0 && at > from {
            chunks.extend(chunk(text, from..at, lines));
            let shared = last.iter().rev().take(SHARED_LINES);
            from = shared.copied().filter(|begin| at - begin <= MOST_SHARED).min().unwrap_or(at);
            // What is shared must leave room, or the next chunk would be the same again.
            if end - from > length.most() {
                from = at;
            }
            last.clear();
        }
        // A line that is too long by itself.
        while end - from > length.most() {
            let cut = text.floor_char_boundary(from + length.most());
            chunks.extend(chunk(text, from..cut, lines));
            from = cut;
        }
        last.push(at.max(from));
        at = end;
    }
    chunks.extend(chunk(text, from..at, lines));
    Split { title: None, chunks }
}
