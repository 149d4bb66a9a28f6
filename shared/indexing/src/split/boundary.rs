//! Cuts a text at its most significant boundaries, in one pass: the work per chunk is bounded by the chunk's length,
//! however many boundaries a file has and however deep they are nested.

use std::ops::Range;

use super::chunk::ChunkLength;

/// A place to cut a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Boundary {
    /// The offset of the first byte after the cut.
    pub(super) byte: usize,
    /// The level: 0 separates the most. A cut at a lower level is preferred.
    pub(super) level: usize,
}

/// Places to cut a text that has no boundary within a chunk's length, best first.
const SEPARATORS: [&str; 4] = ["\n\n", "\n", ". ", " "];

/// Cuts a text at boundaries, which are in order. Each part has at most [`ChunkLength::max`] characters.
pub(super) fn cut(text: &str, boundaries: &[Boundary], length: ChunkLength) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut from = 0;
    while let Some(rest) = text.get(from..).filter(|rest| !rest.is_empty()) {
        let cut = from + part_length(rest, from, boundaries, length);
        ranges.push(from..cut);
        from = cut;
    }
    ranges
}

/// Returns the length of the part with which a text begins. `from` is the offset of the text, to which the boundaries
/// don't refer.
fn part_length(text: &str, from: usize, boundaries: &[Boundary], length: ChunkLength) -> usize {
    let byte_of = |characters: usize| text.char_indices().nth(characters).map(|(byte, _)| byte);
    let Some(max) = byte_of(length.max()) else { return text.len() };
    // A shorter part would have too little context to be found.
    let min = byte_of(length.0 / 8).unwrap_or(max);
    let target = byte_of(length.0).unwrap_or(max);

    let first = boundaries.partition_point(|boundary| boundary.byte < from + min);
    let within = boundaries.iter().skip(first).take_while(|boundary| boundary.byte <= from + max);
    let mut best: Option<Boundary> = None;
    for boundary in within {
        let is_better = best.is_none_or(|best| {
            boundary.level < best.level || boundary.level == best.level && best.byte < from + target
        });
        if is_better {
            best = Some(*boundary);
        }
    }
    best.map_or_else(|| separated_length(text, min, max), |best| best.byte - from)
}

/// Returns the length of a part that ends with a line, a sentence or a word, or else has `max` bytes.
fn separated_length(text: &str, min: usize, max: usize) -> usize {
    let window = text.get(min..max).unwrap_or_default();
    let mut ends =
        SEPARATORS.iter().filter_map(|separator| Some(min + window.rfind(separator)? + separator.len()));
    ends.next().unwrap_or(max)
}
