//! `aptix search`: returns the passages that a turn would get for a question.

use std::fmt::Write;
use std::time::Duration;

use agent::retrieval::{Chunk, EmbeddingModel, Search, SearchResult, key};
use contracts::{
    NonEmpty,
    id::OrgId,
    request::{RagCondition, RagOperator, RagValue},
};
use llm::embeddings::Embeddings;
use llm::key::ApiKey;
use retrieval::collection::Layout;
use retrieval::query::{build, build_by_terms};
use retrieval::search::{ranking, search};
use serde_json::json;

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
    /// Conditions that every chunk must meet.
    pub scope: Vec<RagCondition>,
    /// Set to format the results as JSON.
    pub json: bool,
}

impl SearchRequest {
    /// Returns the condition that a chunk is of this repository.
    #[must_use]
    pub fn repo_condition(repo: String) -> RagCondition {
        let values = NonEmpty::one(RagValue::Text(repo));
        RagCondition { key: key::REPO.to_owned(), operator: RagOperator::Equals, values }
    }

    fn search(&self) -> Search<'_> {
        let Self { question, org, collection, chunks, tokens, scope, .. } = self;
        Search { org, agent: None, collection, question, scope, hints: &[], chunks: *chunks, tokens: *tokens }
    }
}

/// Searches and formats the results: origin, score and first lines of each chunk, and the warnings about the scope.
///
/// # Errors
/// [`Error`].
pub async fn search_report(target: &Target, request: &SearchRequest) -> Result<String, Error> {
    let searcher = Searcher::new(target, &request.collection).await?;
    let vector = searcher.vector(&request.model, &request.question).await?;
    let SearchResult { chunks, warnings } = searcher.find(request, &vector).await?;
    if request.json {
        let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        let chunks: Vec<_> = chunks.iter().map(chunk_json).collect();
        return Ok(format!("{:#}\n", json!({ "Chunks": chunks, "Warnings": warnings })));
    }
    let mut output = String::new();
    for chunk in &chunks {
        let Chunk { repo, path, start_line, end_line, score, section, page, text, .. } = chunk;
        let page = page.map(|page| format!(", page {page}")).unwrap_or_default();
        let _ = write!(output, "{path}:{start_line}-{end_line}{page}  {score:.3}");
        repo.iter().chain(section).for_each(|origin| _ = write!(output, "  {origin}"));
        output.push('\n');
        text.lines().take(MAX_LINES).for_each(|line| _ = writeln!(output, "    {line}"));
    }
    warnings.iter().for_each(|warning| _ = writeln!(output, "warning: {warning}"));
    Ok(if chunks.is_empty() { format!("No results.\n{output}") } else { output })
}

/// Formats a chunk with the members of a turn's `ChunkRefs`, and its text.
fn chunk_json(chunk: &Chunk) -> serde_json::Value {
    json!({
        "ChunkId": chunk.id,
        "Repo": chunk.repo,
        "Path": chunk.path,
        "StartLine": chunk.start_line,
        "EndLine": chunk.end_line,
        "Section": chunk.section,
        "Page": chunk.page,
        "Language": chunk.language,
        "ContentHash": chunk.content_hash,
        "Score": chunk.score,
        "Text": chunk.text,
    })
}

/// Runs searches on one collection.
pub(super) struct Searcher<'a> {
    target: &'a Target,
    embeddings: Embeddings<ApiKey>,
    layout: Layout,
}

/// A way to search without the selection of a turn, for comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Baseline {
    /// By the dense vector.
    Dense,
    /// By terms.
    Terms,
}

impl<'a> Searcher<'a> {
    pub(super) async fn new(target: &'a Target, collection: &str) -> Result<Self, Error> {
        let info = target.connection.collection(collection).await?;
        let layout = Layout::from_info(info).ok_or_else(|| Error::Layout(collection.to_owned()))?;
        Ok(Self { target, embeddings: target.embeddings()?, layout })
    }

    pub(super) async fn vector(&self, model: &EmbeddingModel, question: &str) -> Result<Vec<f32>, Error> {
        let embedded = self.embeddings.embed(model, &[question], TIMEOUT).await;
        let embedded = embedded.map_err(|error| self.target.provider_error(error))?;
        let vector = embedded.vectors.into_iter().next().unwrap_or_default();
        let (has, question) = (self.layout.dense.1, vector.len());
        if u64::try_from(question).ok() == Some(has) {
            Ok(vector)
        } else {
            Err(Error::Dimensions { has, question })
        }
    }

    /// Returns the passages that a turn would get, best first.
    pub(super) async fn find(&self, request: &SearchRequest, vector: &[f32]) -> Result<SearchResult, Error> {
        let connection = &self.target.connection;
        Ok(search(connection, &request.search(), &self.layout, vector, TIMEOUT).await?)
    }

    /// Returns the first chunks of a ranking.
    pub(super) async fn rank(
        &self,
        request: &SearchRequest,
        vector: &[f32],
        baseline: Baseline,
    ) -> Result<Vec<Chunk>, Error> {
        let search = request.search();
        let query = match baseline {
            Baseline::Dense => build(&search, &Layout { has_sparse: false, ..self.layout.clone() }, vector),
            Baseline::Terms => build_by_terms(&search, &self.layout),
        };
        let mut chunks = ranking(&self.target.connection, &search, query).await?;
        chunks.truncate(usize::try_from(request.chunks).unwrap_or(usize::MAX));
        Ok(chunks)
    }
}
