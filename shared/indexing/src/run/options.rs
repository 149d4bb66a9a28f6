//! The sources to index, and the options of a run.

use contracts::id::OrgId;
use llm::embeddings::EmbeddingModel;

use crate::split::ChunkLength;
use crate::walk::Rules;

/// The sources to index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The tenant.
    pub org: OrgId,
    /// The repository's name.
    pub repo: String,
    /// The workspace of the repository.
    pub project: Option<String>,
}

/// The options of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The collection, which is created if it doesn't exist.
    pub collection: String,
    /// The embedding model.
    pub model: EmbeddingModel,
    /// The number of concurrent embedding requests.
    pub concurrency: usize,
    /// Set to index unchanged files too.
    pub force: bool,
    /// The length of a chunk.
    pub chunk_length: ChunkLength,
    /// The rules for files to skip.
    pub rules: Rules,
}
