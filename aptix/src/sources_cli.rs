//! Options of the source commands: `index`, `search` and `evaluate`.

use std::path::PathBuf;

use clap::Args;
use contracts::id::{InvalidId, OrgId};
use indexing::run::{Options, Source};
use indexing::split::ChunkLength;
use indexing::walk::Rules;
use llm::embeddings::EmbeddingModel;
use local::Data;
use local::sources::{self, Evaluation, SearchRequest, TargetOptions};

use crate::vector_args::VectorArgs;

/// Options for the vector database and the embedding provider.
#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    /// Data folder of the local cloud
    #[arg(long, value_name = "FOLDER", default_value = ".local-cloud")]
    data: PathBuf,
    #[command(flatten)]
    vectors: VectorArgs,
    /// Collection in the vector database
    #[arg(long, env = "QDRANT_COLLECTION", value_name = "NAME", default_value = settings::QDRANT_COLLECTION.presence.0)]
    collection: String,
    /// Base URL of the embedding provider [default: the mock model]
    #[arg(long, env = "EMBEDDING_BASE_URL", value_name = "URL")]
    provider: Option<String>,
    /// Key of the embedding provider, or of the model provider. Read from the environment only.
    #[arg(skip = std::env::var("EMBEDDING_API_KEY").ok())]
    key: Option<String>,
    /// Embedding model
    #[arg(long, env = "EMBEDDING_MODEL", value_name = "NAME", default_value = settings::EMBEDDING_MODEL.presence.0)]
    model: String,
    /// Dimensions of the vectors, if the model supports a choice
    #[arg(long, env = "EMBEDDING_DIMENSIONS", value_name = "COUNT")]
    dimensions: Option<u32>,
}

impl TargetArgs {
    /// Converts the arguments to target options. `data` overrides the data folder.
    fn options(self, data: Option<Data>) -> TargetOptions {
        let non_empty = |value: Option<String>| value.filter(|value| !value.is_empty());
        // The model provider may serve embeddings too.
        let provider = match non_empty(self.provider) {
            Some(url) => Some((url, self.key)),
            None => non_empty(std::env::var("OPENAI_BASE_URL").ok())
                .zip(non_empty(std::env::var("OPENAI_API_KEY").ok()))
                .map(|(url, key)| (url, Some(key))),
        };
        TargetOptions {
            qdrant: self.vectors.server(),
            provider: provider.map(|(url, key)| sources::Server { url, key: non_empty(key) }),
            data: data.unwrap_or(Data::Folder(self.data)),
        }
    }

    fn model(&self) -> EmbeddingModel {
        EmbeddingModel { name: self.model.clone(), dimensions: self.dimensions }
    }
}

/// Options for indexing.
#[derive(Debug, Args)]
pub(crate) struct IndexingArgs {
    /// Concurrent embedding requests
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    parallel: u16,
    /// Size limit of files in bytes; larger ones are skipped
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20)]
    max_file_size: u64,
    /// Chunk size in characters; use a smaller one for models that read 256 tokens or less
    #[arg(long, value_name = "CHARACTERS", default_value_t = 2_000)]
    chunk_size: usize,
    /// Price of a million tokens in dollars, to show the cost in the summary
    #[arg(long, value_name = "DOLLARS")]
    price: Option<f64>,
    /// List every skipped file
    #[arg(long)]
    verbose: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Index {
    /// Folder to index
    folder: PathBuf,
    /// Org that owns the sources
    #[arg(long, value_parser = parse_org)]
    org: OrgId,
    /// Repository name
    #[arg(long)]
    repo: String,
    /// Workspace that the repository belongs to
    #[arg(long)]
    project: Option<String>,
    /// Index every file again, even if unchanged
    #[arg(long)]
    force: bool,
    /// Keep running and index changes
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    indexing: IndexingArgs,
    #[command(flatten)]
    target: TargetArgs,
}

impl Index {
    pub(crate) fn into_request(self) -> (sources::Index, TargetOptions) {
        let Self { folder, org, repo, project, force, watch, indexing, target } = self;
        let index = index_request(folder, Source { org, repo, project }, &target, &indexing);
        let options = Options { force, ..index.options };
        (sources::Index { options, watch, ..index }, target.options(None))
    }
}

#[derive(Debug, Args)]
pub(crate) struct Search {
    /// Question to search for
    #[arg(value_parser = parse_question)]
    question: String,
    /// Org whose sources are searched
    #[arg(long, value_parser = parse_org)]
    org: OrgId,
    /// Maximum number of chunks
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    chunks: u32,
    /// Maximum number of tokens in total
    #[arg(long, value_name = "COUNT", default_value_t = 8_000)]
    tokens: u32,
    #[command(flatten)]
    target: TargetArgs,
}

impl Search {
    pub(crate) fn into_request(self) -> (SearchRequest, TargetOptions) {
        let Self { question, org, chunks, tokens, target } = self;
        let (collection, model) = (target.collection.clone(), target.model());
        (SearchRequest { question, org, collection, model, chunks, tokens }, target.options(None))
    }
}

#[derive(Debug, Args)]
pub(crate) struct Evaluate {
    /// Folder to index
    folder: PathBuf,
    /// JSON Lines file of questions, each with `Question` and the `Path` of the file that answers it
    questions: PathBuf,
    /// Number of retrieved chunks that must include the file
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    chunks: u32,
    /// Fail if the hit rate is lower, in percent
    #[arg(long, value_name = "PERCENT")]
    pub(crate) min_hit_rate: Option<f64>,
    #[command(flatten)]
    indexing: IndexingArgs,
    #[command(flatten)]
    target: TargetArgs,
}

impl Evaluate {
    /// Returns the evaluation. It uses an ephemeral local cloud unless servers are named.
    pub(crate) fn into_request(self) -> (Evaluation, TargetOptions) {
        let Self { folder, questions, chunks, indexing, target, .. } = self;
        let source = Source { org: evaluation_org(), repo: "evaluated".to_owned(), project: None };
        let index = index_request(folder, source, &target, &indexing);
        (Evaluation { index, questions, chunks }, target.options(Some(Data::Ephemeral)))
    }
}

fn parse_question(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() {
        Err("the question is empty; search for at least one word")
    } else {
        Ok(text.to_owned())
    }
}

fn index_request(
    folder: PathBuf,
    source: Source,
    target: &TargetArgs,
    indexing: &IndexingArgs,
) -> sources::Index {
    let options = Options {
        collection: target.collection.clone(),
        model: target.model(),
        concurrency: usize::from(indexing.parallel),
        force: false,
        chunk_length: ChunkLength::new(indexing.chunk_size),
        rules: Rules { max_file_bytes: indexing.max_file_size, ..Rules::default() },
    };
    sources::Index { folder, source, options, price: indexing.price, verbose: indexing.verbose, watch: false }
}

/// Returns the org of an evaluation, which belongs to nobody.
#[allow(clippy::expect_used, reason = "a constant that is a valid id")]
fn evaluation_org() -> OrgId {
    OrgId::new("evaluation").expect("a valid id")
}

fn parse_org(name: &str) -> Result<OrgId, InvalidId> {
    OrgId::new(name)
}
