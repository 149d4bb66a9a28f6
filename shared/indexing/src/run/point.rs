//! Converts chunks into points: the id, the payload, and the texts for the vectors.

use contracts::hash::ContentHash;
use retrieval::{Payload, point};

use super::file_version::{FileVersion, splitter};
use super::options::{Options, Source};
use crate::language::Language;
use crate::split::{Chunk, Split};

/// The weight of a heading's terms in the sparse vector.
const HEADING_WEIGHT: usize = 3;

/// The points of a file.
#[derive(Debug)]
pub(super) struct FilePoints {
    pub(super) path: String,
    pub(super) version: FileVersion,
    pub(super) points: Vec<PendingPoint>,
}

/// A point whose vectors aren't computed yet.
#[derive(Debug)]
pub(super) struct PendingPoint {
    pub(super) id: String,
    pub(super) payload: Payload,
    /// The text for the dense vector: a heading with the chunk's location, then the chunk.
    pub(super) dense_text: String,
    /// The text for the sparse vector: the same, with the heading repeated for its weight.
    pub(super) sparse_text: String,
    /// Its share of the file's bytes, for the progress.
    pub(super) bytes: u64,
}

impl AsRef<str> for PendingPoint {
    fn as_ref(&self) -> &str {
        &self.dense_text
    }
}

pub(super) fn build_points(
    source: &Source,
    options: &Options,
    path: &str,
    (sha256, file_bytes): (String, u64),
    language: Language,
    split: Split,
) -> FilePoints {
    let (model, splitter) = (options.model.name.as_str(), splitter(options.chunk_length));
    let part_total = u32::try_from(split.chunks.len()).unwrap_or(u32::MAX);
    let version = FileVersion {
        sha256,
        model: model.to_owned(),
        project: source.project.clone(),
        part_total,
        splitter,
    };
    let title = split.title;
    let points = split.chunks.into_iter().zip(0..part_total).map(|(chunk, part)| {
        let heading = heading(path, title.as_deref(), &chunk);
        let dense_text = format!("{heading}\n{}", chunk.text);
        let sparse_text = format!("{}\n{}", heading.repeat(HEADING_WEIGHT), chunk.text);
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
            part_total,
            title: title.clone(),
            language: language.of_chunks().map(str::to_owned),
            repo: Some(source.repo.clone()),
            path: path.to_owned(),
            line_start: chunk.line_start,
            line_end: chunk.line_end,
            page: chunk.page,
            symbol,
            symbol_type,
            label_slugs: Vec::new(),
            source_sha256: Some(version.sha256.clone()),
            content_hash: ContentHash::hash_text(&chunk.text),
            embedding_model: model.to_owned(),
            splitter: Some(version.splitter.clone()),
            agents: source.agents.clone(),
            attributes: source.attributes.clone(),
            text: chunk.text,
        };
        let id = point::point_id(&source.org, &source.repo, path, part).to_string();
        // The file's bytes, spread over its chunks.
        let share = |part: u32| file_bytes * u64::from(part) / u64::from(part_total.max(1));
        PendingPoint { id, payload, dense_text, sparse_text, bytes: share(part + 1) - share(part) }
    });
    let points = points.collect();
    FilePoints { path: path.to_owned(), version, points }
}

/// Returns the heading: path, title, section and symbol, a line each. Most names that a question asks for are in it
/// and not in the chunk.
fn heading(path: &str, title: Option<&str>, chunk: &Chunk) -> String {
    let symbol = chunk.symbol.as_ref().map(|symbol| {
        let enclosing = symbol.within.iter().map(|name| format!(" in {name}")).collect::<String>();
        format!("{} {}{enclosing}", symbol.kind, symbol.name)
    });
    let lines = [Some(path), title, chunk.section.as_deref(), symbol.as_deref()];
    lines.into_iter().flatten().map(|line| format!("{line}\n")).collect()
}
