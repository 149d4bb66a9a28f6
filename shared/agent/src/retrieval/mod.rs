//! Retrieval: what a turn is to know of its org's indexed sources (AGN-002, DD-001).
//!
//! [`Retrieval`] is the port: a question becomes a vector, and a vector finds chunks. [`context_block`] makes of them
//! what the model is told and what the turn lists. Deliberately absent: any decision by what was found, since
//! retrieval advises alone. A turn without it is a turn.

pub mod context_block;
pub mod key;

use std::{future::Future, time::Duration};

use contracts::{ContentHash, id::OrgId, request::RagCondition};
use serde::{Deserialize, Serialize};

/// The most chunks that a turn is told at once, and that it lists: with them what is kept of its end stays under
/// 100 KB, however long their paths are.
pub const MOST_CHUNKS: u32 = 64;

/// All of a turn's retrieval: the question's vector and the search together.
pub const BUDGET: Duration = Duration::from_secs(2);

/// How much of a question is made a vector of, in bytes: what embedding models read at once.
pub const MOST_QUESTION_BYTES: usize = 16 << 10;

/// What the user is told of a turn whose sources could not be searched.
pub const SKIPPED: &str =
    "The indexed sources could not be searched just now, so this turn was worked on without them.";

/// What the user is told of a turn that used more chunks than it lists.
pub const NOT_ALL_LISTED: &str =
    "More chunks of the indexed sources were used in this turn than it lists among its sources.";

/// Indexed sources, behind an embedding model.
pub trait Retrieval: Send + Sync {
    /// The vector of a question. Nothing outlasts `deadline`.
    fn embed(
        &self,
        model: &EmbeddingModel,
        question: &str,
        deadline: Duration,
    ) -> impl Future<Output = Result<Vec<f32>, Error>> + Send;

    /// The chunks that are nearest to a question, best first: of the org's own, and of what the scope allows, alone.
    /// Nothing outlasts `deadline`.
    fn search(
        &self,
        search: &Search<'_>,
        vector: &[f32],
        deadline: Duration,
    ) -> impl Future<Output = Result<Vec<Chunk>, Error>> + Send;
}

/// No sources: nobody is ever asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSources;

impl Retrieval for NoSources {
    async fn embed(&self, _: &EmbeddingModel, _: &str, _: Duration) -> Result<Vec<f32>, Error> {
        Err(Error::Unavailable)
    }

    async fn search(&self, _: &Search<'_>, _: &[f32], _: Duration) -> Result<Vec<Chunk>, Error> {
        Err(Error::Unavailable)
    }
}

/// Whoever has no sources is never asked.
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
    ) -> Result<Vec<Chunk>, Error> {
        match self {
            Some(retrieval) => retrieval.search(search, vector, deadline).await,
            None => Err(Error::Unavailable),
        }
    }
}

/// A model that makes vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct EmbeddingModel {
    /// The provider's id of it.
    pub name: String,
    /// How long its vectors shall be, for a model that can choose; none leaves it to the model.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dimensions: Option<u32>,
}

/// What is searched where no conversation context says otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configured {
    /// The collection of the vector database.
    pub collection: String,
    /// The model that made its vectors.
    pub embedding: EmbeddingModel,
}

/// What a turn searches, and how much of it the model is told: fixed at the turn's start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Sources {
    /// The collection of the vector database.
    pub collection: String,
    /// The model that made its vectors.
    pub embedding: EmbeddingModel,
    /// How many chunks the model is told at once.
    pub chunks: u32,
    /// How many tokens they may take together.
    pub tokens: u32,
    /// What ranks higher.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub hints: Vec<Hint>,
}

/// A chunk whose payload has this value ranks higher. It is never left out for want of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Hint {
    /// The payload key.
    pub key: String,
    /// The value that the payload has, or has among its values.
    pub value: String,
}

impl Hint {
    /// A hint.
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
    /// The collection.
    pub collection: &'a str,
    /// What is asked, in words.
    pub question: &'a str,
    /// What all chunks have to fulfil (AGN-034 §4.4).
    pub scope: &'a [RagCondition],
    /// What ranks higher.
    pub hints: &'a [Hint],
    /// How many chunks are wanted.
    pub chunks: u32,
}

/// A chunk that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    /// The vector database's id of it.
    pub id: String,
    /// The repository.
    pub repo: Option<String>,
    /// The path of its source.
    pub path: String,
    /// Its language, where its indexer knew it.
    pub language: Option<String>,
    /// Its first line, from 1.
    pub start_line: u32,
    /// Its last line.
    pub end_line: u32,
    /// The content hash of its text.
    pub content_hash: ContentHash,
    /// How near it is, as the database ranks: greater is nearer.
    pub score: f32,
    /// The chunk itself.
    pub text: String,
}

/// Why nothing could be retrieved. No variant carries a provider's words (I14).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It failed often just now, and is not asked for a while.
    #[error("retrieval is paused after failures")]
    Paused,
    /// The time was over.
    #[error("retrieval took too long")]
    TimedOut,
    /// The provider of embeddings did not make a vector.
    #[error("the question could not be made a vector")]
    NotEmbedded,
    /// The database can't be reached, or failed.
    #[error("the vector database is unavailable")]
    Unavailable,
    /// The database refused the key, or there is none.
    #[error("the vector database refused the credentials")]
    Refused,
    /// There is no such collection, or none that can be searched.
    #[error("the vector database has no such collection")]
    NoCollection,
    /// The collection's vectors have another length than the question's.
    #[error("the collection's vectors have other dimensions than the embedding model's")]
    OtherDimensions,
    /// The database did not take the search.
    #[error("the vector database rejected the search")]
    Rejected,
    /// What was found is more than is taken.
    #[error("the vector database's answer is too large")]
    TooLarge,
}
