//! `aptix search`: returns the chunks that a turn would get for a question.

use std::fmt::Write;
use std::time::Duration;

use agent::retrieval::context_block::select_chunks;
use agent::retrieval::{Chunk, EmbeddingModel, Search};
use contracts::id::OrgId;
use llm::embeddings::Embeddings;
use llm::key::ApiKey;
use retrieval::collection::Layout;
use retrieval::query::build;
use retrieval::retriever::chunk_from_point;

use super::error::Error;
use super::target::Target;

/// Timeout of a search.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Lines of a chunk that are shown, at most.
const MAX_LINES: usize = 4;

/// A search request.
#[derive(Debug, Clone)]
pub struct SearchRequest {
    /// The question.
    pub question: String,
    /// Org whose sources are searched.
    pub org: OrgId,
    /// The collection.
    pub collection: String,
    /// Model that embedded the collection.
    pub model: EmbeddingModel,
    /// Number of chunks, at most.
    pub chunks: u32,
    /// Total tokens of the chunks, at most.
    pub tokens: u32,
}

/// Searches and formats the results: location, score and first lines of each chunk.
///
/// # Errors
/// [`Error`].
pub async fn search(target: &Target, request: &SearchRequest) -> Result<String, Error> {
    let searcher = Searcher::new(target, &request.collection).await?;
    let vector = searcher.vector(&request.model, &request.question).await?;
    let found = searcher.find(request, &vector, true).await?;
    let mut output = String::new();
    for chunk in &found {
        let Chunk { path, start_line, end_line, score, text, .. } = chunk;
        let _ = writeln!(output, "{path}:{start_line}-{end_line}  {score:.3}");
        text.lines().take(MAX_LINES).for_each(|line| _ = writeln!(output, "    {line}"));
    }
    Ok(if found.is_empty() { "No results.\n".to_owned() } else { output })
}

/// Runs searches on one collection.
pub(super) struct Searcher<'a> {
    target: &'a Target,
    embeddings: Embeddings<ApiKey>,
    layout: Layout,
}

impl<'a> Searcher<'a> {
    pub(super) async fn new(target: &'a Target, collection: &str) -> Result<Self, Error> {
        let info = target.connection.collection(collection).await?;
        let layout = Layout::from_info(info).ok_or_else(|| Error::Layout(collection.to_owned()))?;
        Ok(Self { target, embeddings: target.embeddings()?, layout })
    }

    pub(super) async fn vector(&self, model: &EmbeddingModel, question: &str) -> Result<Vec<f32>, Error> {
        let embedded = self.embeddings.embed(model, &[question], TIMEOUT).await?;
        let vector = embedded.vectors.into_iter().next().unwrap_or_default();
        let (has, question) = (self.layout.dense.1, vector.len());
        if u64::try_from(question).ok() == Some(has) {
            Ok(vector)
        } else {
            Err(Error::Dimensions { has, question })
        }
    }

    /// Returns the chunks that a turn would get, best first. Without `hybrid`, only dense vectors are searched, even
    /// if the collection has terms.
    pub(super) async fn find(
        &self,
        request: &SearchRequest,
        vector: &[f32],
        hybrid: bool,
    ) -> Result<Vec<Chunk>, Error> {
        let search = Search {
            org: &request.org,
            collection: &request.collection,
            question: &request.question,
            scope: &[],
            hints: &[],
            chunks: request.chunks,
        };
        let layout = Layout { has_sparse: hybrid && self.layout.has_sparse, ..self.layout.clone() };
        let query = build(&search, &layout, vector);
        let found = self.target.connection.call(|qdrant| {
            let query = query.clone();
            async move { qdrant.points().query(query).await }
        });
        let found = found.await?.result.into_iter().filter_map(chunk_from_point);
        let found: Vec<Chunk> = found.map(|(_, chunk)| chunk).collect();
        Ok(select_chunks(&found, request.chunks, request.tokens).into_iter().cloned().collect())
    }
}
