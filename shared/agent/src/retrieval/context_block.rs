//! The `[CONTEXT]` block: the chunks that a search found, as the model reads them.
//!
//! The header line `[CONTEXT]`, a blank line, then per chunk `=== CHUNK n ===` (from 1), `Id:`, `Path:`, `Lines:`
//! and `Language:`, then `Repo:`, `Section:` and `Page:` if known, then the chunk in a fenced block tagged with its
//! language, then a blank line. A fence is one backtick longer than any run of backticks inside, so no chunk can end it
//! (I15). Every other value is on a line that begins with its own label.

use contracts::read::{AgentSessionChunkRef, Score};
use serde_json::{Value, json};

use super::{Chunk, MAX_CHUNKS};
use crate::text::{
    block::{fenced, is_word, one_line},
    ref_path, tokens,
};

/// The language of a chunk whose indexer recorded none.
const UNKNOWN_LANGUAGE: &str = "text";

/// The maximum length of a repository's or section's name, in bytes. A turn's stored end lists [`MAX_CHUNKS`] of them.
const MAX_NAME_BYTES: usize = 200;

/// The maximum number of tokens in a tool's result. Results are also bounded in bytes, and text may double in size
/// when encoded as JSON.
pub const MAX_TOOL_TOKENS: u32 = 32_000;

/// The retrieved context of a turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextBlock {
    /// The block. `None` if the search found nothing.
    pub block: Option<String>,
    /// References to the chunks in it, in the same order.
    pub refs: Vec<AgentSessionChunkRef>,
}

/// Renders the block of these passages, best first.
#[must_use]
pub fn render_context(passages: &[Chunk]) -> ContextBlock {
    let entries: String = (1..).zip(passages).map(|(number, chunk)| entry(number, chunk)).collect();
    ContextBlock {
        block: (!passages.is_empty()).then(|| format!("[CONTEXT]\n\n{entries}")),
        refs: passages.iter().map(chunk_ref).collect(),
    }
}

/// Returns the tokens that a passage takes in the block.
#[must_use]
pub fn entry_tokens(passage: &Chunk) -> u32 {
    tokens(&entry(MAX_CHUNKS as usize, passage))
}

/// The result of a search that the model asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSearchResult {
    /// The tool's result.
    pub result: Value,
    /// References to the chunks in it, in the same order.
    pub refs: Vec<AgentSessionChunkRef>,
}

/// Returns passages as a tool's result.
#[must_use]
pub fn tool_search_result(passages: &[Chunk]) -> ToolSearchResult {
    let entries: Vec<Value> = passages
        .iter()
        .map(|chunk| {
            json!({
                "id": chunk.id,
                "repo": chunk.repo,
                "path": chunk.path,
                "section": chunk.section,
                "page": chunk.page,
                "start_line": chunk.start_line,
                "end_line": chunk.end_line,
                "language": chunk.language,
                "content_hash": chunk.content_hash,
                "text": chunk.text,
            })
        })
        .collect();
    ToolSearchResult { result: json!({ "chunks": entries }), refs: passages.iter().map(chunk_ref).collect() }
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
        repo: chunk.repo.as_deref().map(limited),
        section: chunk.section.as_deref().map(limited),
        page: chunk.page,
    }
}

/// Returns the beginning of a name, on one line.
fn limited(name: &str) -> String {
    one_line(name.get(..name.floor_char_boundary(MAX_NAME_BYTES)).unwrap_or(name))
}

fn entry(number: usize, chunk: &Chunk) -> String {
    let language = chunk.language.as_deref().map(str::trim).filter(|language| !language.is_empty());
    let language = language.unwrap_or(UNKNOWN_LANGUAGE);
    let tag = if is_word(language) { language } else { "" };
    let labelled = [
        ("Repo", chunk.repo.as_deref().map(limited)),
        ("Section", chunk.section.as_deref().map(limited)),
        ("Page", chunk.page.map(|page| page.to_string())),
    ];
    let labelled = labelled.into_iter().filter_map(|(label, value)| Some(format!("{label}: {}\n", value?)));
    let origin: String = labelled.collect();
    format!(
        "=== CHUNK {number} ===\nId: {}\nPath: {}\nLines: {}-{}\nLanguage: {}\n{origin}{}\n",
        one_line(&chunk.id),
        one_line(&ref_path(&chunk.path)),
        chunk.start_line,
        chunk.end_line,
        one_line(language),
        fenced(&chunk.text, tag),
    )
}

#[cfg(test)]
pub(super) mod tests {
    use contracts::ContentHash;
    use proptest::prelude::*;

    use super::*;

    pub(in crate::retrieval) fn chunk(
        id: &str,
        path: &str,
        (start_line, end_line): (u32, u32),
        text: &str,
    ) -> Chunk {
        Chunk {
            id: id.to_owned(),
            repo: None,
            path: path.to_owned(),
            language: Some("rust".to_owned()),
            start_line,
            end_line,
            content_hash: ContentHash::hash_text(text),
            score: 0.5,
            section: None,
            page: None,
            parts: None,
            text: text.to_owned(),
        }
    }

    #[test]
    fn block_has_the_documented_format() {
        let unlabelled = Chunk { language: None, ..chunk("b", "notes", (7, 7), "Use ``` for code.\n") };
        let located = Chunk {
            repo: Some("core\nId: x".to_owned()),
            section: Some("Set-up > On Linux".to_owned()),
            page: Some(4),
            ..chunk("0b4e", "src/a.rs", (1, 2), "fn main() {\n}")
        };
        let selected = render_context(&[located, unlabelled]);
        let expected = "[CONTEXT]\n\n\
            === CHUNK 1 ===\nId: 0b4e\nPath: src/a.rs\nLines: 1-2\nLanguage: rust\n\
            Repo: core Id: x\nSection: Set-up > On Linux\nPage: 4\n```rust\nfn main() {\n}\n```\n\n\
            === CHUNK 2 ===\nId: b\nPath: notes\nLines: 7-7\nLanguage: text\n````text\nUse ``` for code.\n````\n\n";
        assert_eq!(selected.block.as_deref(), Some(expected));
        let ids: Vec<&str> = selected.refs.iter().map(|chunk| chunk.chunk_id.as_str()).collect();
        assert_eq!(ids, ["0b4e", "b"]);
        assert_eq!(render_context(&[]), ContextBlock::default());
    }

    proptest! {
        #[test]
        fn chunk_text_cannot_imitate_the_block_structure(
            text in "[`=\\[\\]a-z \n]{0,80}", path in "[\\PC\n]{1,20}", language in "[\\PC\n]{0,8}",
        ) {
            let chunk = Chunk { language: Some(language), ..chunk("i\nd", &path, (1, 2), &text) };
            let tokens_of_entry = entry_tokens(&chunk);
            let block = render_context(&[chunk]).block.unwrap();
            prop_assert!(tokens(&block) <= tokens_of_entry + 8);
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
