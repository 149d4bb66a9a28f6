//! The `[CONTEXT]` block (AGN-002): the chunks that were found, as the model is told them.
//!
//! The header line `[CONTEXT]`, a blank line, then per chunk `=== CHUNK n ===` (from 1), `Id:`, `Path:`, `Lines:`
//! and `Language:`, then the chunk in a fenced block that is tagged with its language, then a blank line. A fence is
//! one backtick longer than any run of backticks inside, so no chunk can end it (I15); every other value stands on a
//! line that begins with its own label.

use std::collections::BTreeMap;

use contracts::read::{AgentSessionChunkRef, Score};
use serde_json::{Value, json};

use super::{Chunk, MOST_CHUNKS};
use crate::{
    block::{fenced, is_word, one_line},
    text::{path_of_ref, tokens},
};

/// The language of a chunk whose indexer knew none.
const PLAIN: &str = "text";

/// The most tokens of a tool's result, which has a bound of its own: text may double when it becomes JSON.
const MOST_TOOL_TOKENS: u32 = 32_000;

/// What a turn is told.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Context {
    /// The block; none when nothing was found.
    pub block: Option<String>,
    /// What is in it, in its order.
    pub refs: Vec<AgentSessionChunkRef>,
}

/// The block of these chunks, best first: at most so many, of at most so many tokens together, of as many files as can be, and
/// of the lines of a file that several have the best one alone. A chunk goes whole or not at all.
#[must_use]
pub fn context(chunks: &[Chunk], most: u32, budget: u32) -> Context {
    let told = chosen(chunks, most, budget);
    let entries: String = (1..).zip(&told).map(|(number, chunk)| entry(number, chunk)).collect();
    Context {
        block: (!told.is_empty()).then(|| format!("[CONTEXT]\n\n{entries}")),
        refs: told.into_iter().map(reference).collect(),
    }
}

/// What the model is told of chunks that it searched for itself.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundByTool {
    /// The tool's result.
    pub result: Value,
    /// What is in it, in its order.
    pub refs: Vec<AgentSessionChunkRef>,
}

/// The same chunks as [`context`] would tell, as a tool's result.
#[must_use]
pub fn found_by_tool(chunks: &[Chunk], most: u32, budget: u32) -> FoundByTool {
    let told = chosen(chunks, most, budget.min(MOST_TOOL_TOKENS));
    let entries: Vec<Value> = told
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
    FoundByTool { result: json!({ "chunks": entries }), refs: told.into_iter().map(reference).collect() }
}

/// Which of the chunks are told, best first: the best of each file before any file's second, since what a question asks for
/// is as a rule in one of several files, and seldom in the fourth chunk of the first.
#[must_use]
pub fn chosen(chunks: &[Chunk], most: u32, budget: u32) -> Vec<&Chunk> {
    let most = usize::try_from(most.min(MOST_CHUNKS)).unwrap_or_default();
    let mut left = budget;
    let mut told: BTreeMap<usize, &Chunk> = BTreeMap::new();
    for bars in [is_of_one_file, overlaps] {
        for (rank, chunk) in chunks.iter().enumerate() {
            let cost = tokens(&entry(most, chunk));
            if told.len() < most && cost <= left && !told.values().any(|other| bars(chunk, other)) {
                left -= cost;
                told.insert(rank, chunk);
            }
        }
    }
    told.into_values().collect()
}

fn is_of_one_file(a: &Chunk, b: &Chunk) -> bool {
    a.path == b.path && a.repo == b.repo
}

fn overlaps(a: &Chunk, b: &Chunk) -> bool {
    is_of_one_file(a, b) && a.start_line <= b.end_line && b.start_line <= a.end_line
}

/// What the turn lists of a chunk (DD-002B).
fn reference(chunk: &Chunk) -> AgentSessionChunkRef {
    AgentSessionChunkRef {
        chunk_id: chunk.id.clone(),
        path: path_of_ref(&chunk.path),
        start_line: chunk.start_line,
        end_line: chunk.end_line,
        content_hash: chunk.content_hash,
        score: Some(Score::of(chunk.score)),
    }
}

fn entry(number: usize, chunk: &Chunk) -> String {
    let language = chunk.language.as_deref().map(str::trim).filter(|language| !language.is_empty());
    let language = language.unwrap_or(PLAIN);
    let tag = if is_word(language) { language } else { "" };
    format!(
        "=== CHUNK {number} ===\nId: {}\nPath: {}\nLines: {}-{}\nLanguage: {}\n{}\n",
        one_line(&chunk.id),
        one_line(&path_of_ref(&chunk.path)),
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
            content_hash: ContentHash::of_text(text),
            score: 0.5,
            text: text.to_owned(),
        }
    }

    fn ids(context: &Context) -> Vec<&str> {
        context.refs.iter().map(|chunk| chunk.chunk_id.as_str()).collect()
    }

    #[test]
    fn the_block_reads_as_the_format_says() {
        let plain = Chunk { language: None, ..chunk("b", "notes", (7, 7), "Use ``` for code.\n") };
        let told = context(&[chunk("0b4e", "src/a.rs", (1, 2), "fn main() {\n}"), plain], 12, 8_000);
        let expected = "[CONTEXT]\n\n\
            === CHUNK 1 ===\nId: 0b4e\nPath: src/a.rs\nLines: 1-2\nLanguage: rust\n```rust\nfn main() {\n}\n```\n\n\
            === CHUNK 2 ===\nId: b\nPath: notes\nLines: 7-7\nLanguage: text\n````text\nUse ``` for code.\n````\n\n";
        assert_eq!(told.block.as_deref(), Some(expected));
        assert_eq!(ids(&told), ["0b4e", "b"]);
    }

    #[test]
    fn nothing_found_is_no_block() {
        assert_eq!(context(&[], 12, 8_000), Context::default());
        let found = [chunk("a", "a", (1, 1), "a")];
        assert_eq!(context(&found, 0, 8_000), Context::default());
        assert_eq!(context(&found, 12, 3), Context::default());
    }

    #[test]
    fn of_the_lines_of_a_file_that_several_have_the_best_stays() {
        let other = Chunk { repo: Some("other".to_owned()), ..chunk("e", "a", (1, 10), "e") };
        let found = [
            chunk("a", "a", (10, 20), "a"),
            chunk("b", "a", (20, 30), "b"),
            chunk("c", "b", (10, 20), "c"),
            chunk("d", "a", (1, 9), "d"),
            other,
        ];
        assert_eq!(ids(&context(&found, 12, 8_000)), ["a", "c", "d", "e"]);
    }

    #[test]
    fn the_best_of_each_file_comes_before_the_second_of_any() {
        let of = |id: &str, path: &str, line: u32| chunk(id, path, (line, line), id);
        let found = [of("a", "a", 1), of("b", "a", 2), of("c", "a", 3), of("d", "b", 1), of("e", "c", 1)];
        assert_eq!(ids(&context(&found, 3, 8_000)), ["a", "d", "e"]);
        assert_eq!(ids(&context(&found, 4, 8_000)), ["a", "b", "d", "e"]);
        assert_eq!(
            ids(&context(&found, 8, 8_000)),
            ["a", "b", "c", "d", "e"],
            "none is lost where there is room"
        );
    }

    #[test]
    fn a_chunk_that_does_not_fit_is_left_out_whole_and_a_smaller_one_may_take_its_place() {
        let found = [
            chunk("a", "a", (1, 1), "a"),
            chunk("b", "b", (1, 1), &"b".repeat(900)),
            chunk("c", "c", (1, 1), "c"),
        ];
        assert_eq!(ids(&context(&found, 12, 100)), ["a", "c"]);
        assert_eq!(ids(&context(&found, 1, 8_000)), ["a"]);
    }

    proptest! {
        #[test]
        fn nothing_in_a_chunk_can_pass_for_the_blocks_structure(
            text in "[`=\\[\\]a-z \n]{0,80}", path in "[\\PC\n]{1,20}", language in "[\\PC\n]{0,8}", most in 0_u32..3_000,
        ) {
            let found = Chunk { language: Some(language), ..chunk("i\nd", &path, (1, 2), &text) };
            let told = context(&[found], 12, most);
            let Some(block) = told.block else { return Ok(()) };
            prop_assert!(tokens(&block) <= most + 8);
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
