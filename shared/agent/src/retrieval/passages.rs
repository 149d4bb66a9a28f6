//! Selects the passages of a turn from ranked chunks: by rank with a soft limit per file, neighbours merged, and with
//! the lines around them as far as the budget allows.

use contracts::ContentHash;

use super::{Chunk, MAX_CHUNKS, Parts, context_block::entry_tokens};

/// The share of the passages that one file may take while chunks of other files wait: one of this many.
const SHARE_OF_FILE: u32 = 4;

/// The share of passages per file is at least this many.
const MIN_PER_FILE: u32 = 2;

/// The maximum size of the lines added on each side of a passage, in bytes.
const MAX_SIDE_BYTES: usize = 1_600;

/// The maximum number of blank lines between two neighbours.
const MAX_GAP_LINES: u32 = 20;

/// Selects chunks, given best first: at most `max_chunks` and `budget` tokens, and of overlapping chunks only the best.
/// A file with its share of them gets more only if others leave room. Neighbouring chunks are merged afterwards.
#[must_use]
pub fn select(chunks: &[Chunk], max_chunks: u32, budget: u32) -> Vec<Chunk> {
    let max_chunks = max_chunks.min(MAX_CHUNKS);
    let share = max_chunks.div_ceil(SHARE_OF_FILE).max(MIN_PER_FILE) as usize;
    let mut remaining = budget;
    let mut selected: Vec<(usize, &Chunk)> = Vec::new();
    for limit in [share, usize::MAX] {
        for (rank, chunk) in chunks.iter().enumerate() {
            let cost = entry_tokens(chunk);
            let of_file = selected.iter().filter(|(_, other)| is_same_file(chunk, other)).count();
            let is_repeated = selected.iter().any(|(_, other)| repeats(chunk, other));
            if selected.len() < max_chunks as usize && cost <= remaining && of_file < limit && !is_repeated {
                remaining -= cost;
                selected.push((rank, chunk));
            }
        }
    }
    selected.sort_by_key(|(rank, _)| *rank);
    merge(selected.into_iter().map(|(_, chunk)| chunk.clone()))
}

/// Merges neighbours, each at the rank of the best.
fn merge(chunks: impl Iterator<Item = Chunk>) -> Vec<Chunk> {
    let mut passages: Vec<Chunk> = Vec::new();
    for chunk in chunks {
        let mut joined = chunk;
        let mut place: Option<usize> = None;
        // A chunk may close the gap between two passages.
        while let Some((at, both)) = passages.iter().enumerate().find_map(|(at, other)| {
            let best = if place.is_none_or(|place| at < place) { other } else { &joined };
            Some((at, join(other, &joined, best).or_else(|| join(&joined, other, best))?))
        }) {
            passages.remove(at);
            place = Some(place.map_or(at, |place| place.min(at)));
            joined = both;
        }
        passages.insert(place.unwrap_or(passages.len()), joined);
    }
    passages
}

/// Adds the lines around passages, best first, as far as they fit in the budget. `neighbour` returns the chunk at an
/// index of a passage's source, if it is known.
pub fn add_surroundings<'a>(
    passages: &mut [Chunk],
    budget: u32,
    neighbour: impl Fn(&Chunk, u32) -> Option<&'a Chunk>,
) {
    let mut remaining = budget.saturating_sub(passages.iter().map(entry_tokens).sum());
    for at in 0..passages.len() {
        for is_before in [true, false] {
            let Some(passage) = passages.get(at) else { continue };
            let Some((part, chunk)) = beside(passage, is_before)
                .and_then(|part| Some((part, neighbour(passage, part)?)))
                .filter(|(part, chunk)| chunk.parts.is_some_and(|parts| parts.first == *part))
            else {
                continue;
            };
            // Another passage has these lines.
            if passages.iter().any(|other| is_same_file(other, passage) && covers(other, part)) {
                continue;
            }
            let lines = nearest_lines(chunk, is_before);
            let joined = match is_before {
                true => join(&lines, passage, passage),
                false => join(passage, &lines, passage),
            };
            let Some(joined) = joined else { continue };
            let cost = entry_tokens(&joined).saturating_sub(entry_tokens(passage));
            if cost <= remaining
                && let Some(passage) = passages.get_mut(at)
            {
                remaining -= cost;
                *passage = joined;
            }
        }
    }
}

/// Returns the indexes of the chunks beside a passage.
pub fn indexes_beside(passage: &Chunk) -> impl Iterator<Item = u32> {
    [true, false].into_iter().filter_map(|is_before| beside(passage, is_before))
}

fn beside(passage: &Chunk, is_before: bool) -> Option<u32> {
    let Parts { first, last, total } = passage.parts?;
    match is_before {
        true => first.checked_sub(1),
        false => Some(last + 1).filter(|next| *next < total),
    }
}

fn covers(passage: &Chunk, part: u32) -> bool {
    passage.parts.is_some_and(|parts| (parts.first..=parts.last).contains(&part))
}

fn is_same_file(a: &Chunk, b: &Chunk) -> bool {
    a.path == b.path && a.repo == b.repo
}

/// Returns true if the chunks share lines, other than the few that neighbours may share.
fn repeats(a: &Chunk, b: &Chunk) -> bool {
    let shares_lines = a.start_line <= b.end_line && b.start_line <= a.end_line;
    is_same_file(a, b) && shares_lines && join(a, b, a).or_else(|| join(b, a, a)).is_none()
}

/// Returns the last or the first whole lines of a chunk, at most [`MAX_SIDE_BYTES`].
fn nearest_lines(chunk: &Chunk, from_end: bool) -> Chunk {
    let lines: Vec<&str> = chunk.text.lines().collect();
    let mut bytes = 0;
    let fits = |line: &&&str| {
        bytes += line.len() + 1;
        bytes <= MAX_SIDE_BYTES
    };
    let count = match from_end {
        true => lines.iter().rev().take_while(fits).count(),
        false => lines.iter().take_while(fits).count(),
    };
    let kept = match from_end {
        true => lines.get(lines.len() - count..),
        false => lines.get(..count),
    };
    let others = u32::try_from(lines.len() - count).unwrap_or(u32::MAX);
    let (start_line, end_line) = match from_end {
        true => (chunk.start_line.saturating_add(others), chunk.end_line),
        false => (chunk.start_line, chunk.end_line.saturating_sub(others)),
    };
    Chunk { text: kept.unwrap_or_default().join("\n"), start_line, end_line, ..chunk.clone() }
}

/// Joins two neighbours into one passage with the identity of `best`, or returns none if they are not neighbours. Lines
/// that both have appear once.
fn join(first: &Chunk, second: &Chunk, best: &Chunk) -> Option<Chunk> {
    let (before, after) = first.parts.zip(second.parts)?;
    let are_neighbours =
        is_same_file(first, second) && before.last + 1 == after.first && before.total == after.total;
    if !are_neighbours || first.text.is_empty() || second.text.is_empty() {
        return None;
    }
    let shared = (first.end_line + 1).saturating_sub(second.start_line) as usize;
    let text = if shared == 0 {
        let gap = second.start_line - first.end_line;
        let gap = (gap <= MAX_GAP_LINES).then(|| "\n".repeat(gap as usize))?;
        format!("{}{gap}{}", first.text, second.text)
    } else {
        let trimmed = |line: &str| line.trim().to_owned();
        let last: Vec<String> = first.text.lines().rev().take(shared).map(trimmed).collect();
        let head: Vec<String> = second.text.lines().take(shared).map(trimmed).collect();
        if !last.iter().rev().eq(&head) || second.text.lines().nth(shared).is_none() {
            return None;
        }
        let rest: Vec<&str> = second.text.lines().skip(shared).collect();
        format!("{}\n{}", first.text, rest.join("\n"))
    };
    Some(Chunk {
        start_line: first.start_line,
        end_line: second.end_line,
        content_hash: ContentHash::hash_text(&text),
        parts: Some(Parts { first: before.first, last: after.last, total: before.total }),
        text,
        ..best.clone()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::retrieval::context_block::tests::chunk;

    fn part(id: &str, index: u32, lines: (u32, u32), text: &str) -> Chunk {
        let parts = Some(Parts { first: index, last: index, total: 9 });
        Chunk { parts, ..chunk(id, "a", lines, text) }
    }

    fn ids(passages: &[Chunk]) -> Vec<&str> {
        passages.iter().map(|passage| passage.id.as_str()).collect()
    }

    #[test]
    fn second_chunk_of_the_best_file_goes_before_a_worse_file() {
        let at_line = |id: &str, path: &str, line: u32| chunk(id, path, (line, line), id);
        let chunks = [
            at_line("a", "a", 1),
            at_line("b", "a", 3),
            at_line("c", "a", 5),
            at_line("d", "b", 1),
            at_line("e", "c", 1),
        ];
        assert_eq!(ids(&select(&chunks, 3, 8_000)), ["a", "b", "d"]);
        assert_eq!(ids(&select(&chunks, 4, 8_000)), ["a", "b", "d", "e"], "a file has two of four");
        assert_eq!(ids(&select(&chunks, 8, 8_000)), ["a", "b", "c", "d", "e"], "no chunk is lost if all fit");
    }

    #[test]
    fn overlapping_chunks_keep_only_the_best() {
        let other = Chunk { repo: Some("other".to_owned()), ..chunk("e", "a", (1, 10), "e") };
        let chunks = [
            chunk("a", "a", (10, 20), "a"),
            chunk("b", "a", (20, 30), "b"),
            chunk("c", "b", (10, 20), "c"),
            chunk("d", "a", (1, 9), "d"),
            other,
        ];
        assert_eq!(ids(&select(&chunks, 12, 8_000)), ["a", "c", "d", "e"]);
    }

    #[test]
    fn oversized_chunk_is_skipped_for_a_smaller_one() {
        let chunks = [
            chunk("a", "a", (1, 1), "a"),
            chunk("b", "b", (1, 1), &"b".repeat(900)),
            chunk("c", "c", (1, 1), "c"),
        ];
        assert_eq!(ids(&select(&chunks, 12, 100)), ["a", "c"]);
        assert_eq!(ids(&select(&chunks, 1, 8_000)), ["a"]);
        assert!(select(&chunks, 0, 8_000).is_empty() && select(&chunks, 12, 3).is_empty());
    }

    #[test]
    fn neighbours_are_merged_at_the_rank_of_the_best() {
        let chunks = [
            part("b", 2, (7, 8), "seven\neight"),
            chunk("x", "x", (1, 1), "x"),
            part("a", 0, (1, 3), "one\ntwo\nthree"),
            part("m", 1, (3, 5), "three\nfour\nfive"),
        ];
        let passages = select(&chunks, 12, 8_000);
        assert_eq!(ids(&passages), ["b", "x"]);
        assert_eq!(passages[0].text, "one\ntwo\nthree\nfour\nfive\n\nseven\neight");
        assert_eq!((passages[0].start_line, passages[0].end_line), (1, 8));
        assert_eq!(passages[0].content_hash, ContentHash::hash_text(&passages[0].text));
    }

    #[test]
    fn surroundings_are_whole_lines_within_the_budget() {
        let before = part("a", 0, (1, 2), &format!("{}\nnear", "x".repeat(1_700)));
        let after = part("c", 2, (5, 6), "next\nlast");
        let find = |_: &Chunk, index: u32| match index {
            0 => Some(&before),
            2 => Some(&after),
            _ => None,
        };
        let mut passages = [part("b", 1, (3, 4), "hit\nhit")];
        add_surroundings(&mut passages, 8_000, find);
        assert_eq!(passages[0].text, "near\nhit\nhit\nnext\nlast");
        assert_eq!((passages[0].start_line, passages[0].end_line, passages[0].id.as_str()), (2, 6, "b"));

        let mut passages = [part("b", 1, (3, 4), "hit\nhit")];
        let budget = entry_tokens(&passages[0]);
        add_surroundings(&mut passages, budget, find);
        assert_eq!(passages[0].text, "hit\nhit");
    }

    proptest! {
        #[test]
        fn passages_stay_within_the_budget_and_show_each_line_once(
            picks in proptest::collection::vec((0_u32..9, 0_u32..3), 0..20), max in 0_u32..12, budget in 0_u32..400,
        ) {
            let chunks: Vec<Chunk> = picks
                .iter()
                .map(|(index, file)| {
                    let chunk = part(&format!("{file}/{index}"), *index, (2 * index + 1, 2 * index + 2), "one\ntwo");
                    Chunk { path: file.to_string(), ..chunk }
                })
                .collect();
            let passages = select(&chunks, max, budget);
            prop_assert!(passages.iter().map(entry_tokens).sum::<u32>() <= budget);
            let lines: Vec<(&str, u32)> = passages
                .iter()
                .flat_map(|passage| (passage.start_line..=passage.end_line).map(|line| (passage.path.as_str(), line)))
                .collect();
            let distinct: std::collections::BTreeSet<_> = lines.iter().collect();
            prop_assert_eq!(distinct.len(), lines.len());
        }
    }
}
