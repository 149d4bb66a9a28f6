//! The command line of what is done with sources.

use std::path::PathBuf;

use clap::Args;
use contracts::id::{InvalidId, OrgId};
use indexing::run::{Options, Source};
use indexing::split::Length;
use indexing::walk::Rules;
use llm::embeddings::EmbeddingModel;
use local::Data;
use local::sources::{self, Asked, Evaluation, Where};

use crate::vector_args::VectorArgs;

/// Whose sources, where they are kept, and who makes their vectors.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// The folder that keeps the local cloud's state.
    #[arg(long, value_name = "FOLDER", default_value = ".local-cloud")]
    data: PathBuf,
    #[command(flatten)]
    vectors: VectorArgs,
    /// The collection.
    #[arg(long, env = "QDRANT_COLLECTION", value_name = "NAME", default_value = settings::QDRANT_COLLECTION.absent.0)]
    collection: String,
    /// The base URL of a provider of embeddings; the scripted model's if none.
    #[arg(long, env = "EMBEDDING_BASE_URL", value_name = "URL")]
    provider: Option<String>,
    /// Its key, or that of the model provider. Only from the environment.
    #[arg(skip = std::env::var("EMBEDDING_API_KEY").ok())]
    key: Option<String>,
    /// The model that makes vectors.
    #[arg(long, env = "EMBEDDING_MODEL", value_name = "NAME", default_value = settings::EMBEDDING_MODEL.absent.0)]
    model: String,
    /// How long its vectors shall be, where it can choose.
    #[arg(long, env = "EMBEDDING_DIMENSIONS", value_name = "COUNT")]
    dimensions: Option<u32>,
}

impl Place {
    /// Where it is, with its state in `data`.
    fn named(self, data: Option<Data>) -> Where {
        let given = |value: Option<String>| value.filter(|value| !value.is_empty());
        // The provider of answers may make vectors too.
        let provider = match given(self.provider) {
            Some(url) => Some((url, self.key)),
            None => given(std::env::var("OPENAI_BASE_URL").ok())
                .zip(given(std::env::var("OPENAI_API_KEY").ok()))
                .map(|(url, key)| (url, Some(key))),
        };
        Where {
            qdrant: self.vectors.server(),
            provider: provider.map(|(url, key)| sources::Server { url, key: given(key) }),
            data: data.unwrap_or(Data::Folder(self.data)),
        }
    }

    fn model(&self) -> EmbeddingModel {
        EmbeddingModel { name: self.model.clone(), dimensions: self.dimensions }
    }
}

/// How a folder is indexed.
#[derive(Debug, Args)]
pub(crate) struct How {
    /// Requests for embeddings side by side.
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    parallel: u16,
    /// Leave out files that are larger, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20)]
    largest: u64,
    /// How long a chunk is, in characters. Shorter for a model that reads no more than 256 tokens.
    #[arg(long, value_name = "CHARACTERS", default_value_t = 2_000)]
    chunk: usize,
    /// What a million tokens cost, in dollars: the summary then says what it cost.
    #[arg(long, value_name = "DOLLARS")]
    price: Option<f64>,
    /// Name each file that is left out.
    #[arg(long)]
    verbose: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Index {
    /// The folder.
    folder: PathBuf,
    /// The org that the sources belong to.
    #[arg(long, value_parser = org)]
    org: OrgId,
    /// The repository's name.
    #[arg(long)]
    repo: String,
    /// The workspace that it belongs to.
    #[arg(long)]
    project: Option<String>,
    /// Index everything again, changed or not.
    #[arg(long)]
    again: bool,
    /// Stay, and index what changes.
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    place: Place,
}

impl Index {
    pub(crate) fn asked(self) -> (sources::Index, Where) {
        let Self { folder, org, repo, project, again, watch, how, place } = self;
        let index = index(folder, Source { org, repo, project }, &place, &how);
        let options = Options { again, ..index.options };
        (sources::Index { options, watch, ..index }, place.named(None))
    }
}

#[derive(Debug, Args)]
pub(crate) struct Search {
    /// The question.
    question: String,
    /// The org whose sources are searched.
    #[arg(long, value_parser = org)]
    org: OrgId,
    /// How many chunks.
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    chunks: u32,
    /// How many tokens they may have together.
    #[arg(long, value_name = "COUNT", default_value_t = 8_000)]
    tokens: u32,
    #[command(flatten)]
    place: Place,
}

impl Search {
    pub(crate) fn asked(self) -> (Asked, Where) {
        let Self { question, org, chunks, tokens, place } = self;
        let (collection, model) = (place.collection.clone(), place.model());
        (Asked { question, org, collection, model, chunks, tokens }, place.named(None))
    }
}

#[derive(Debug, Args)]
pub(crate) struct Evaluate {
    /// The folder.
    folder: PathBuf,
    /// The questions: a JSON object a line, with `Question` and the `Path` of the file that answers it.
    questions: PathBuf,
    /// Among how many chunks the file has to be.
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    chunks: u32,
    /// Fail when fewer percent are found.
    #[arg(long, value_name = "PERCENT")]
    pub(crate) at_least: Option<f64>,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    place: Place,
}

impl Evaluate {
    /// On a local cloud that forgets, unless servers are named.
    pub(crate) fn asked(self) -> (Evaluation, Where) {
        let Self { folder, questions, chunks, how, place, .. } = self;
        let source = Source { org: evaluating(), repo: "evaluated".to_owned(), project: None };
        let index = index(folder, source, &place, &how);
        (Evaluation { index, questions, chunks }, place.named(Some(Data::Ephemeral)))
    }
}

fn index(folder: PathBuf, source: Source, place: &Place, how: &How) -> sources::Index {
    let options = Options {
        collection: place.collection.clone(),
        model: place.model(),
        parallel: usize::from(how.parallel),
        again: false,
        length: Length::of(how.chunk),
        rules: Rules { largest: how.largest, ..Rules::default() },
    };
    sources::Index { folder, source, options, price: how.price, verbose: how.verbose, watch: false }
}

/// The org of an evaluation, which is nobody's.
#[allow(clippy::expect_used, reason = "a constant that is an id")]
fn evaluating() -> OrgId {
    OrgId::new("evaluation").expect("an id")
}

fn org(name: &str) -> Result<OrgId, InvalidId> {
    OrgId::new(name)
}
