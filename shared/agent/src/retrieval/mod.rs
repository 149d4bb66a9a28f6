//! Retrieval: chunks of an org's indexed sources for a turn.
//!
//! [`Retrieval`] is the port: it embeds a question as a vector and searches for chunks near it. [`context_block`]
//! renders them for the model and lists them for the turn. Retrieval is advisory: no decision depends on its
//! results, and a turn runs without it.

pub mod context_block;
pub mod key;
pub mod passages;
pub mod question;

use std::{future::Future, time::Duration};

use contracts::{
    ContentHash,
    id::{AgentContextId, OrgId},
    request::RagCondition,
};
use serde::{Deserialize, Serialize};

/// The maximum number of chunks that a turn includes at once and lists. With this bound a turn's stored end stays
/// under 100 KB, however long the paths are.
pub const MAX_CHUNKS: u32 = 64;

/// The time budget of a turn's retrieval, embedding and search together.
pub const BUDGET: Duration = Duration::from_secs(2);

/// The number of bytes of a question that are embedded, which is about the input limit of embedding models.
pub const MAX_QUESTION_BYTES: usize = 16 << 10;

/// The warning for a turn whose sources could not be searched.
pub const SEARCH_SKIPPED: &str =
    "The indexed sources could not be searched just now, so this turn ran without them.";

/// The warning for a turn with a scope and nothing to search.
pub const SCOPE_UNUSED: &str = "`RagScope` was not used: no indexed sources are configured for this turn.";

/// The warning for a turn that used more chunks than it lists.
pub const CHUNKS_UNLISTED: &str =
    "More chunks of the indexed sources were used in this turn than it lists among its sources.";

/// Search in indexed sources by embedding.
pub trait Retrieval: Send + Sync {
    /// Embeds a question. It ends within `deadline`.
    fn embed(
        &self,
        model: &EmbeddingModel,
        question: &str,
        deadline: Duration,
    ) -> impl Future<Output = Result<Vec<f32>, Error>> + Send;

    /// Returns the chunks nearest to a question, best first. Only chunks of the org that the agent may have and
    /// that match the scope are returned. It ends within `deadline`.
    fn search(
        &self,
        search: &Search<'_>,
        vector: &[f32],
        deadline: Duration,
    ) -> impl Future<Output = Result<SearchResult, Error>> + Send;
}

/// A [`Retrieval`] without sources; every call fails as unavailable.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSources;

impl Retrieval for NoSources {
    async fn embed(&self, _: &EmbeddingModel, _: &str, _: Duration) -> Result<Vec<f32>, Error> {
        Err(Error::Unavailable)
    }

    async fn search(&self, _: &Search<'_>, _: &[f32], _: Duration) -> Result<SearchResult, Error> {
        Err(Error::Unavailable)
    }
}

/// Without a value, every call fails as unavailable.
impl<R: Retrieval> Retrieval for Option<R> {
    async fn embed(
        &self,
        model: &EmbeddingModel,
        question: &str,
        deadline: Duration,
    ) -> Result<Vec<f32>, Error> {
        match self {
            Some(retrieval) => retrieval.embed(model, question, deadline).await,
            None => Err(Error::Unavailable),
        }
    }

    async fn search(
        &self,
        search: &Search<'_>,
        vector: &[f32],
        deadline: Duration,
    ) -> Result<SearchResult, Error> {
        match self {
            Some(retrieval) => retrieval.search(search, vector, deadline).await,
            None => Err(Error::Unavailable),
        }
    }
}

/// An embedding model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct EmbeddingModel {
    /// The provider's id of the model.
    pub name: String,
    /// The requested dimensions, for a model that can choose. None: the model's default.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dimensions: Option<u32>,
}

/// The sources that are searched by default, unless a conversation context names others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultSources {
    /// The collection of the vector database.
    pub collection: String,
    /// The model that made its vectors.
    pub embedding: EmbeddingModel,
}

/// The sources that a turn searches and the limits of its context block, fixed at the turn's start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Sources {
    /// The agent of the turn. `None` in the spec of an older version, whose turn gets what every agent may have.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent: Option<AgentContextId>,
    /// The collection of the vector database.
    pub collection: String,
    /// The model that made its vectors.
    pub embedding: EmbeddingModel,
    /// The maximum number of chunks to include at once.
    pub chunks: u32,
    /// The maximum number of their tokens together.
    pub tokens: u32,
    /// The ranking hints.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub hints: Vec<Hint>,
}

/// A payload value that ranks a chunk higher. A chunk without it is never left out.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Hint {
    /// The payload key.
    pub key: String,
    /// The value that the payload has, or has among its values.
    pub value: String,
}

impl Hint {
    /// Creates a hint.
    #[must_use]
    pub fn new(key: &str, value: &str) -> Self {
        Self { key: key.to_owned(), value: value.to_owned() }
    }
}

/// One search.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// The tenant, from the verified caller.
    pub org: &'a OrgId,
    /// The agent of the turn. With none, only chunks that every agent may have are returned.
    pub agent: Option<&'a AgentContextId>,
    /// The collection.
    pub collection: &'a str,
    /// The question as text.
    pub question: &'a str,
    /// The conditions that every chunk must meet.
    pub scope: &'a [RagCondition],
    /// The ranking hints.
    pub hints: &'a [Hint],
    /// The maximum number of passages to return.
    pub chunks: u32,
    /// The maximum number of their tokens together.
    pub tokens: u32,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SearchResult {
    /// The passages, best first, within the limits of the search.
    pub chunks: Vec<Chunk>,
    /// Conditions of the scope that had no effect or a limited one.
    pub warnings: Vec<ScopeWarning>,
}

/// A warning for the user about the request's scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScopeWarning {
    /// The key names the tenant, or can't be a key.
    #[error("The condition of `RagScope` on `{0}` was ignored: it can't be a condition.")]
    KeyIgnored(String),
    /// No source of the org has the key.
    #[error("No indexed source has the key `{0}`, which `RagScope` names.")]
    KeyUnknown(String),
    /// The database refuses to filter by the key, so the nearest chunks were compared.
    #[error(
        "The database has no index for the key `{0}`, which `RagScope` names, and refuses to filter by it. It was compared with the nearest chunks only: create the index, or use another key."
    )]
    KeyUnindexed(String),
    /// More chunks may match than were compared.
    #[error("`RagScope` was compared with the nearest chunks only, and others may match it too.")]
    Incomplete,
}

/// A chunk that a search found, or a passage of neighbouring chunks.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    /// The chunk's id in the vector database.
    pub id: String,
    /// The repository.
    pub repo: Option<String>,
    /// The path of its source.
    pub path: String,
    /// Its language, if its indexer recorded one.
    pub language: Option<String>,
    /// Its first line, from 1.
    pub start_line: u32,
    /// Its last line.
    pub end_line: u32,
    /// The content hash of its text.
    pub content_hash: ContentHash,
    /// Its similarity to the question; greater is nearer.
    pub score: f32,
    /// The headings above it, or the name of its section.
    pub section: Option<String>,
    /// Its page, in a source with pages.
    pub page: Option<u32>,
    /// Its position among the chunks of its source, if its indexer recorded one.
    pub parts: Option<Parts>,
    /// Its text.
    pub text: String,
}

/// The position of a passage among the chunks of its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// The index of its first chunk, from 0.
    pub first: u32,
    /// The index of its last chunk.
    pub last: u32,
    /// The number of chunks of the source.
    pub total: u32,
}

/// A retrieval failure. No variant carries a provider's message (I14).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The circuit breaker is open.
    #[error("retrieval is paused after failures")]
    Paused,
    /// The deadline passed.
    #[error("retrieval took too long")]
    TimedOut,
    /// The embedding provider returned no vector.
    #[error("the question could not be embedded")]
    EmbeddingFailed,
    /// The database is unreachable or failed.
    #[error("the vector database is unavailable")]
    Unavailable,
    /// The database rejected the key, or no key is configured.
    #[error("the vector database refused the credentials")]
    Unauthorized,
    /// The collection doesn't exist or can't be searched.
    #[error("the vector database has no such collection")]
    CollectionNotFound,
    /// The collection's vectors have other dimensions than the question's.
    #[error("the collection's vectors have other dimensions than the embedding model's")]
    DimensionMismatch,
    /// The database rejected the search.
    #[error("the vector database rejected the search")]
    Rejected,
    /// The response exceeds the size limit.
    #[error("the vector database's answer is too large")]
    TooLarge,
}
