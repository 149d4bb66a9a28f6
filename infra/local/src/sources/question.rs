//! `local search`: a question, answered by the chunks that a turn would be told.

use std::fmt::Write;
use std::time::Duration;

use agent::retrieval::context_block::chosen;
use agent::retrieval::{Chunk, EmbeddingModel, Search};
use contracts::id::OrgId;
use llm::embeddings::Embeddings;
use llm::key::ApiKey;
use retrieval::collection::Layout;
use retrieval::query::query;
use retrieval::retriever::chunk;

use super::{Error, Place};

/// How long a question may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Lines of a chunk that are shown.
const SHOWN_LINES: usize = 4;

/// What is asked.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The question.
    pub question: String,
    /// Whose sources are searched.
    pub org: OrgId,
    /// The collection.
    pub collection: String,
    /// The model that made its vectors.
    pub model: EmbeddingModel,
    /// How many chunks.
    pub chunks: u32,
    /// How many tokens they may have together.
    pub tokens: u32,
}

/// Searches, and shows what was found: where it is, how near, and how it begins.
///
/// # Errors
/// [`Error`].
pub async fn search(place: &Place, asked: &Asked) -> Result<String, Error> {
    let searcher = Searcher::new(place, &asked.collection).await?;
    let vector = searcher.vector(&asked.model, &asked.question).await?;
    let found = searcher.find(asked, &vector, true).await?;
    let mut shown = String::new();
    for chunk in &found {
        let Chunk { path, start_line, end_line, score, text, .. } = chunk;
        let _ = writeln!(shown, "{path}:{start_line}-{end_line}  {score:.3}");
        text.lines().take(SHOWN_LINES).for_each(|line| _ = writeln!(shown, "    {line}"));
    }
    Ok(if found.is_empty() { "Nothing was found.\n".to_owned() } else { shown })
}

/// What questions are asked of.
pub(super) struct Searcher<'a> {
    place: &'a Place,
    embeddings: Embeddings<ApiKey>,
    layout: Layout,
}

impl<'a> Searcher<'a> {
    pub(super) async fn new(place: &'a Place, collection: &str) -> Result<Self, Error> {
        let info = place.connection.collection(collection).await?;
        let layout = Layout::of(info).ok_or_else(|| Error::Layout(collection.to_owned()))?;
        Ok(Self { place, embeddings: place.embeddings()?, layout })
    }

    pub(super) async fn vector(&self, model: &EmbeddingModel, question: &str) -> Result<Vec<f32>, Error> {
        let embedded = self.embeddings.embed(model, &[question], PATIENCE).await?;
        let vector = embedded.vectors.into_iter().next().unwrap_or_default();
        let (has, asked) = (self.layout.dense.1, vector.len());
        if u64::try_from(asked).ok() == Some(has) {
            Ok(vector)
        } else {
            Err(Error::Dimensions { has, asked })
        }
    }

    /// The chunks that a turn would be told, best first. Without `hybrid` terms are not searched, though there are some.
    pub(super) async fn find(
        &self,
        asked: &Asked,
        vector: &[f32],
        hybrid: bool,
    ) -> Result<Vec<Chunk>, Error> {
        let search = Search {
            org: &asked.org,
            collection: &asked.collection,
            question: &asked.question,
            scope: &[],
            hints: &[],
            chunks: asked.chunks,
        };
        let layout = Layout { has_terms: hybrid && self.layout.has_terms, ..self.layout.clone() };
        let query = query(&search, &layout, vector);
        let found = self.place.connection.ask(|qdrant| {
            let query = query.clone();
            async move { qdrant.points().query(query).await }
        });
        let found = found.await?.result.into_iter().filter_map(chunk);
        let found: Vec<Chunk> = found.map(|(_, chunk)| chunk).collect();
        Ok(chosen(&found, asked.chunks, asked.tokens).into_iter().cloned().collect())
    }
}
