//! The `[CONTEXT]` block: the chunks that a search found, as the model reads them.
//!
//! The header line `[CONTEXT]`, a blank line, then per chunk `=== CHUNK n ===` (from 1), `Id:`, `Path:`, `Lines:`
//! and `Language:`, then the chunk in a fenced block tagged with its language, then a blank line. A fence is one
//! backtick longer than any run of backticks inside, so no chunk can end it (I15). Every other value is on a line
//! that begins with its own label.

use std::collections::BTreeMap;

use contracts::read::{AgentSessionChunkRef, Score};
use serde_json::{Value, json};

use super::{Chunk, MAX_CHUNKS};
use crate::text::{
    block::{fenced, is_word, one_line},
    ref_path, tokens,
};

/// The language of a chunk whose indexer recorded none.
const UNKNOWN_LANGUAGE: &str = "text";

/// The maximum number of tokens in a tool's result. Results are also bounded in bytes, and text may double in size
/// when encoded as JSON.
const MAX_TOOL_TOKENS: u32 = 32_000;

/// The retrieved context of a turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextBlock {
    /// The block. `None` if the search found nothing.
    pub block: Option<String>,
    /// References to the chunks in it, in the same order.
    pub refs: Vec<AgentSessionChunkRef>,
}

/// Renders the block of these chunks, given best first: at most `max_chunks` chunks and `budget` tokens. It covers as many
/// files as possible, and of overlapping chunks of a file only the best. A chunk is included whole or not at all.
#[must_use]
pub fn render_context(chunks: &[Chunk], max_chunks: u32, budget: u32) -> ContextBlock {
    let selected = select_chunks(chunks, max_chunks, budget);
    let entries: String = (1..).zip(&selected).map(|(number, chunk)| entry(number, chunk)).collect();
    ContextBlock {
        block: (!selected.is_empty()).then(|| format!("[CONTEXT]\n\n{entries}")),
        refs: selected.into_iter().map(chunk_ref).collect(),
    }
}

/// The result of a search that the model asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSearchResult {
    /// The tool's result.
    pub result: Value,
    /// References to the chunks in it, in the same order.
    pub refs: Vec<AgentSessionChunkRef>,
}

/// Returns the chunks that [`render_context`] would include, as a tool's result.
#[must_use]
pub fn tool_search_result(chunks: &[Chunk], max_chunks: u32, budget: u32) -> ToolSearchResult {
    let selected = select_chunks(chunks, max_chunks, budget.min(MAX_TOOL_TOKENS));
    let entries: Vec<Value> = selected
        .iter()
        .map(|chunk| {
            json!({
                "id": chunk.id,
                "repo": chunk.repo,
                "path": chunk.path,
                "start_line": chunk.start_line,
                "end_line": chunk.end_line,
                "language": chunk.language,
                "content_hash": chunk.content_hash,
                "text": chunk.text,
            })
        })
        .collect();
    ToolSearchResult {
        result: json!({ "chunks": entries }),
        refs: selected.into_iter().map(chunk_ref).collect(),
    }
}

/// Selects the chunks to include, best first. The best chunk of each file goes before any file's second: the answer
/// is usually in one of several files, and seldom in the fourth chunk of the first.
#[must_use]
pub fn select_chunks(chunks: &[Chunk], max_chunks: u32, budget: u32) -> Vec<&Chunk> {
    let max_chunks = usize::try_from(max_chunks.min(MAX_CHUNKS)).unwrap_or_default();
    let mut remaining = budget;
    let mut selected: BTreeMap<usize, &Chunk> = BTreeMap::new();
    for excludes in [same_file, overlaps] {
        for (rank, chunk) in chunks.iter().enumerate() {
            let cost = tokens(&entry(max_chunks, chunk));
            if selected.len() < max_chunks
                && cost <= remaining
                && !selected.values().any(|other| excludes(chunk, other))
            {
                remaining -= cost;
                selected.insert(rank, chunk);
            }
        }
    }
    selected.into_values().collect()
}

fn same_file(a: &Chunk, b: &Chunk) -> bool {
    a.path == b.path && a.repo == b.repo
}

fn overlaps(a: &Chunk, b: &Chunk) -> bool {
    same_file(a, b) && a.start_line <= b.end_line && b.start_line <= a.end_line
}

/// Returns the reference that the turn lists for a chunk.
fn chunk_ref(chunk: &Chunk) -> AgentSessionChunkRef {
    AgentSessionChunkRef {
        chunk_id: chunk.id.clone(),
        path: ref_path(&chunk.path),
        start_line: chunk.start_line,
        end_line: chunk.end_line,
        content_hash: chunk.content_hash,
        score: Some(Score::new(chunk.score)),
    }
}

fn entry(number: usize, chunk: &Chunk) -> String {
    let language = chunk.language.as_deref().map(str::trim).filter(|language| !language.is_empty());
    let language = language.unwrap_or(UNKNOWN_LANGUAGE);
    let tag = if is_word(language) { language } else { "" };
    format!(
        "=== CHUNK {number} ===\nId: {}\nPath: {}\nLines: {}-{}\nLanguage: {}\n{}\n",
        one_line(&chunk.id),
        one_line(&ref_path(&chunk.path)),
        chunk.start_line,
        chunk.end_line,
        one_line(language),
        fenced(&chunk.text, tag),
    )
}

#[cfg(test)]
mod tests {
    use contracts::ContentHash;
    use proptest::prelude::*;

    use super::*;

    fn chunk(id: &str, path: &str, (start_line, end_line): (u32, u32), text: &str) -> Chunk {
        Chunk {
            id: id.to_owned(),
            repo: None,
            path: path.to_owned(),
            language: Some("rust".to_owned()),
            start_line,
            end_line,
            content_hash: ContentHash::hash_text(text),
            score: 0.5,
            text: text.to_owned(),
        }
    }

    fn ids(context: &ContextBlock) -> Vec<&str> {
        context.refs.iter().map(|chunk| chunk.chunk_id.as_str()).collect()
    }

    #[test]
    fn block_has_the_documented_format() {
        let unlabelled = Chunk { language: None, ..chunk("b", "notes", (7, 7), "Use ``` for code.\n") };
        let selected =
            render_context(&[chunk("0b4e", "src/a.rs", (1, 2), "fn main() {\n}"), unlabelled], 12, 8_000);
        let expected = "[CONTEXT]\n\n\
            === CHUNK 1 ===\nId: 0b4e\nPath: src/a.rs\nLines: 1-2\nLanguage: rust\n```rust\nfn main() {\n}\n```\n\n\
            === CHUNK 2 ===\nId: b\nPath: notes\nLines: 7-7\nLanguage: text\n````text\nUse ``` for code.\n````\n\n";
        assert_eq!(selected.block.as_deref(), Some(expected));
        assert_eq!(ids(&selected), ["0b4e", "b"]);
    }

    #[test]
    fn no_chunks_render_no_block() {
        assert_eq!(render_context(&[], 12, 8_000), ContextBlock::default());
        let chunks = [chunk("a", "a", (1, 1), "a")];
        assert_eq!(render_context(&chunks, 0, 8_000), ContextBlock::default());
        assert_eq!(render_context(&chunks, 12, 3), ContextBlock::default());
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
        assert_eq!(ids(&render_context(&chunks, 12, 8_000)), ["a", "c", "d", "e"]);
    }

    #[test]
    fn best_chunk_of_each_file_goes_before_any_second() {
        let at_line = |id: &str, path: &str, line: u32| chunk(id, path, (line, line), id);
        let chunks = [
            at_line("a", "a", 1),
            at_line("b", "a", 2),
            at_line("c", "a", 3),
            at_line("d", "b", 1),
            at_line("e", "c", 1),
        ];
        assert_eq!(ids(&render_context(&chunks, 3, 8_000)), ["a", "d", "e"]);
        assert_eq!(ids(&render_context(&chunks, 4, 8_000)), ["a", "b", "d", "e"]);
        assert_eq!(
            ids(&render_context(&chunks, 8, 8_000)),
            ["a", "b", "c", "d", "e"],
            "no chunk is lost if all fit"
        );
    }

    #[test]
    fn oversized_chunk_is_skipped_for_a_smaller_one() {
        let chunks = [
            chunk("a", "a", (1, 1), "a"),
            chunk("b", "b", (1, 1), &"b".repeat(900)),
            chunk("c", "c", (1, 1), "c"),
        ];
        assert_eq!(ids(&render_context(&chunks, 12, 100)), ["a", "c"]);
        assert_eq!(ids(&render_context(&chunks, 1, 8_000)), ["a"]);
    }

    proptest! {
        #[test]
        fn chunk_text_cannot_imitate_the_block_structure(
            text in "[`=\\[\\]a-z \n]{0,80}", path in "[\\PC\n]{1,20}", language in "[\\PC\n]{0,8}", budget in 0_u32..3_000,
        ) {
            let chunk = Chunk { language: Some(language), ..chunk("i\nd", &path, (1, 2), &text) };
            let selected = render_context(&[chunk], 12, budget);
            let Some(block) = selected.block else { return Ok(()) };
            prop_assert!(tokens(&block) <= budget + 8);
            let lines: Vec<&str> = block.split('\n').collect();
            prop_assert!(lines[3].starts_with("Id: ") && lines[4].starts_with("Path: "));
            prop_assert_eq!(lines[5], "Lines: 1-2");
            prop_assert!(lines[6].starts_with("Language: "));
            let fence: String = lines[7].chars().take_while(|c| *c == '`').collect();
            let closing = lines.iter().skip(8).position(|line| line.starts_with(&fence)).unwrap() + 8;
            prop_assert_eq!(&lines[closing..], &[fence.as_str(), "", ""]);
        }
    }
}
