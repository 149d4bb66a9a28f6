//! The sources to index, and the options of a run.

use contracts::id::OrgId;
use llm::embeddings::EmbeddingModel;
use retrieval::AttributeValue;

use crate::split::ChunkLength;
use crate::walk::Rules;

/// The start of the names of repositories that hold a document for the agents of an org. Other sources have other names.
pub const KNOWLEDGE_REPO: &str = "knowledge/";

/// The sources to index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The tenant.
    pub org: OrgId,
    /// The repository's name.
    pub repo: String,
    /// The workspace of the repository.
    pub project: Option<String>,
    /// The agents whose turns may have the sources. `None` means every agent of the org.
    pub agents: Option<Vec<String>>,
    /// Other members of each payload, which conditions may name.
    pub attributes: Vec<(String, AttributeValue)>,
}

impl Source {
    /// Creates a repository that every agent of the org may have.
    #[must_use]
    pub fn new(org: OrgId, repo: String, project: Option<String>) -> Self {
        Self { org, repo, project, agents: None, attributes: Vec::new() }
    }
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
    /// Set to count what a run would index, without embedding or storing it.
    pub dry_run: bool,
    /// The length of a chunk.
    pub chunk_length: ChunkLength,
    /// The rules for files to skip.
    pub rules: Rules,
}
