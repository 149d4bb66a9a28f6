//! A chunk as a point: its id, its payload, and the text that its vectors are made of.

use contracts::hash::ContentHash;
use retrieval::{Payload, point};

use super::Source;
use super::compare::sha256;
use super::known::State;
use crate::language::{Kind, Language};
use crate::split::{Chunk, Split};

/// How often a title counts among the terms.
const TITLE_COUNTS: usize = 3;

/// A file in points.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) path: String,
    pub(super) state: State,
    pub(super) pieces: Vec<Piece>,
}

/// A point without its vectors.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) id: String,
    pub(super) payload: Payload,
    /// What its vector is made of: the chunk, below words that say where it stands.
    pub(super) embedded: String,
    /// What its terms are: the same, where those words count as often as a title's should.
    pub(super) weighed: String,
}

impl AsRef<str> for Piece {
    fn as_ref(&self) -> &str {
        &self.embedded
    }
}

pub(super) fn prepare(
    source: &Source,
    model: &str,
    path: &str,
    text: &str,
    language: Language,
    split: Split,
) -> Prepared {
    let parts = u32::try_from(split.chunks.len()).unwrap_or(u32::MAX);
    let state =
        State { sha256: sha256(text), model: model.to_owned(), project: source.project.clone(), parts };
    let title = split.title;
    let pieces = split.chunks.into_iter().zip(0..parts).map(|(chunk, part)| {
        let above = above(path, title.as_deref(), &chunk);
        let embedded = format!("{above}\n{}", chunk.text);
        let weighed = format!("{}\n{}", above.repeat(TITLE_COUNTS), chunk.text);
        let (symbol, symbol_type) = chunk.symbol.map(|symbol| (symbol.name, symbol.kind.to_owned())).unzip();
        let payload = Payload {
            org_id: source.org.clone(),
            project_id: source.project.clone(),
            doc_id: format!("{}:{path}", source.repo),
            semantic_id: None,
            content_type: Some(language.kind.name().to_owned()),
            subtype: Some(language.name.to_owned()),
            section_key: chunk.section,
            part_index: part,
            part_total: parts,
            title: title.clone(),
            language: (language.kind == Kind::Code).then(|| language.name.to_owned()),
            repo: Some(source.repo.clone()),
            path: path.to_owned(),
            line_start: chunk.line_start,
            line_end: chunk.line_end,
            symbol,
            symbol_type,
            label_slugs: Vec::new(),
            source_sha256: Some(state.sha256.clone()),
            content_hash: ContentHash::of_text(&chunk.text),
            embedding_model: model.to_owned(),
            text: chunk.text,
        };
        let id = point::id(&source.org, &source.repo, path, part).to_string();
        Piece { id, payload, embedded, weighed }
    });
    let pieces = pieces.collect();
    Prepared { path: path.to_owned(), state, pieces }
}

/// Where a chunk stands, a line each. Most of what a question asks for by name is said there and not in the chunk.
fn above(path: &str, title: Option<&str>, chunk: &Chunk) -> String {
    let symbol = chunk.symbol.as_ref().map(|symbol| {
        let within = symbol.within.iter().map(|name| format!(" in {name}")).collect::<String>();
        format!("{} {}{within}", symbol.kind, symbol.name)
    });
    let lines = [Some(path), title, chunk.section.as_deref(), symbol.as_deref()];
    lines.into_iter().flatten().map(|line| format!("{line}\n")).collect()
}
