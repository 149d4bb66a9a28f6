//! `aptix index`, `aptix search` and `aptix evaluate`: index sources, and search them.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use contracts::id::{InvalidId, OrgId};
use contracts::request::RagCondition;
use indexing::run::{KNOWLEDGE_REPO, Options, Source};
use indexing::secrets::AllowedSecrets;
use indexing::split::ChunkLength;
use indexing::walk::Rules;
use llm::embeddings::EmbeddingModel;
use local::Data;
use local::sources::{self, Evaluation, SearchRequest, Target, TargetOptions};

use crate::failure::{Failure, INTERRUPTED, InvalidOption};
use crate::folder_args::FolderArgs;
use crate::output::print;
use crate::shutdown_signals::ShutdownSignals;
use crate::stack_servers::StackServers;
use crate::vector_args::VectorArgs;

/// Options for the vector database and the embedding provider.
#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    #[command(flatten)]
    folder: FolderArgs,
    #[command(flatten)]
    vectors: VectorArgs,
    /// Stack whose vector database and embedding provider are used, with your AWS credentials; takes precedence over
    /// --qdrant
    #[arg(long, value_name = "NAME", conflicts_with = "data")]
    stack: Option<String>,
    /// Collection in the vector database [default: the stack's, or `sources`]
    #[arg(long, env = "QDRANT_COLLECTION", value_name = "NAME")]
    collection: Option<String>,
    /// Base URL of the embedding provider [default: the mock model]
    #[arg(long, env = "EMBEDDING_BASE_URL", value_name = "URL")]
    provider: Option<String>,
    /// Key of the embedding provider, or of the model provider. Read from the environment only.
    #[arg(skip = std::env::var("EMBEDDING_API_KEY").ok())]
    key: Option<String>,
    /// Embedding model [default: the stack's, or `text-embedding-3-small`]
    #[arg(long, env = "EMBEDDING_MODEL", value_name = "NAME")]
    model: Option<String>,
    /// Dimensions of the vectors, if the model supports a choice
    #[arg(long, env = "EMBEDDING_DIMENSIONS", value_name = "COUNT")]
    dimensions: Option<u32>,
}

/// The servers of a source command, with the collection and the embedding model.
struct ResolvedTarget {
    options: TargetOptions,
    collection: String,
    model: EmbeddingModel,
    /// The org of the user who is signed in to the stack.
    org: Option<String>,
}

impl TargetArgs {
    /// Resolves the arguments, with the parameters and the secrets of a stack if one is named. `data` overrides the data
    /// folder.
    async fn resolve(self, data: Option<Data>) -> Result<ResolvedTarget, Failure> {
        let non_empty = |value: Option<String>| value.filter(|value| !value.is_empty());
        let stack = match non_empty(self.stack) {
            Some(name) => Some(StackServers::read(&name).await?),
            None => None,
        };
        let (qdrant, stack_provider, stack_collection, stack_model, org) = match stack {
            Some(stack) => {
                (Some(stack.qdrant), Some(stack.provider), stack.collection, stack.embedding_model, stack.org)
            }
            None => (self.vectors.server(), None, None, None, None),
        };
        // The model provider may serve embeddings too.
        let provider = match non_empty(self.provider) {
            Some(url) => Some(sources::Server { url, key: non_empty(self.key) }),
            None => stack_provider.or_else(provider_of_environment),
        };
        let or_default = |value: Option<String>, of_stack: Option<String>, default: &str| {
            non_empty(value).or(of_stack).unwrap_or_else(|| default.to_owned())
        };
        let model = or_default(self.model, stack_model, settings::EMBEDDING_MODEL.presence.0);
        Ok(ResolvedTarget {
            options: TargetOptions {
                qdrant,
                provider,
                data: data.unwrap_or_else(|| Data::Folder(self.folder.folder_or_running())),
            },
            collection: or_default(self.collection, stack_collection, settings::QDRANT_COLLECTION.presence.0),
            model: EmbeddingModel { name: model, dimensions: self.dimensions },
            org,
        })
    }
}

/// Returns the model provider that the environment names.
fn provider_of_environment() -> Option<sources::Server> {
    let variable = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
    let (url, key) = variable("OPENAI_BASE_URL").zip(variable("OPENAI_API_KEY"))?;
    Some(sources::Server { url, key: Some(key) })
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
    /// File to index even if it may hold a secret, as a pattern of a .gitignore file; may be repeated
    #[arg(long, value_name = "PATTERN")]
    allow_secret: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Index {
    /// Folder to index
    folder: PathBuf,
    /// Org that owns the sources [default: yours, if you are signed in to the stack]
    #[arg(long, value_parser = parse_org, required_unless_present = "stack")]
    org: Option<OrgId>,
    /// Repository name
    #[arg(long, value_parser = parse_repo)]
    repo: String,
    /// Workspace that the repository belongs to
    #[arg(long)]
    project: Option<String>,
    /// Index every file again, even if unchanged
    #[arg(long)]
    force: bool,
    /// Keep running and index changes
    #[arg(long, conflicts_with_all = ["remove", "dry_run"])]
    watch: bool,
    /// Delete all chunks of the repository; the folder is not read
    #[arg(long)]
    remove: bool,
    /// Show what would be indexed, with the estimated tokens, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    indexing: IndexingArgs,
    #[command(flatten)]
    target: TargetArgs,
}

impl Index {
    async fn into_request(self) -> Result<(sources::Index, TargetOptions), Failure> {
        let Self { folder, org, repo, project, force, watch, remove, dry_run, indexing, target } = self;
        if !remove && !folder.is_dir() {
            return Err(InvalidOption::new(format!("{} is not a folder", folder.display())).into());
        }
        let target = target.resolve(None).await?;
        let org = org_of(org, target.org.as_deref())?;
        if repo.starts_with(KNOWLEDGE_REPO) {
            let message = format!(
                "Names of repositories with {KNOWLEDGE_REPO} are those of `aptix knowledge`. Choose another one."
            );
            return Err(InvalidOption::new(message).into());
        }
        let index = index_request(folder, Source::new(org, repo, project), &target, &indexing)?;
        let options = Options { force, dry_run, ..index.options };
        Ok((sources::Index { options, watch, remove, ..index }, target.options))
    }
}

#[derive(Debug, Args)]
pub(crate) struct Search {
    /// Question to search for
    #[arg(value_parser = parse_question)]
    question: String,
    /// Org whose sources are searched [default: yours, if you are signed in to the stack]
    #[arg(long, value_parser = parse_org, required_unless_present = "stack")]
    org: Option<OrgId>,
    /// Maximum number of chunks
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    chunks: u32,
    /// Maximum number of tokens in total
    #[arg(long, value_name = "COUNT", default_value_t = 8_000)]
    tokens: u32,
    /// Repository to search in
    #[arg(long, value_name = "NAME", value_parser = parse_repo)]
    repo: Option<String>,
    /// Conditions that every chunk must meet, as the `RagScope` of a turn: {"Conditions": [{"Key", "Operator", "Values"}]}
    #[arg(long, value_name = "JSON", value_parser = parse_scope)]
    scope: Option<Scope>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: TargetArgs,
}

/// The conditions of a search.
#[derive(Debug, Clone)]
struct Scope(Vec<RagCondition>);

impl Search {
    async fn into_request(self) -> Result<(SearchRequest, TargetOptions), Failure> {
        let Self { question, org, chunks, tokens, repo, scope, json, target } = self;
        let of_repo = repo.map(SearchRequest::repo_condition);
        let scope = scope.into_iter().flat_map(|scope| scope.0).chain(of_repo).collect();
        let ResolvedTarget { options, collection, model, org: own_org } = target.resolve(None).await?;
        let org = org_of(org, own_org.as_deref())?;
        Ok((SearchRequest { question, org, collection, model, chunks, tokens, scope, json }, options))
    }
}

#[derive(Debug, Args)]
pub(crate) struct Evaluate {
    /// Folder to index
    folder: PathBuf,
    /// JSON Lines file of questions, each with `Question`, the `Path` of the file that answers it, and optionally the `Text`
    /// or the `Lines` ([first, last]) of the passage
    questions: PathBuf,
    /// Number of retrieved passages that must include the answer
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    chunks: u32,
    /// Maximum number of tokens of the passages in total
    #[arg(long, value_name = "COUNT", default_value_t = 8_000)]
    tokens: u32,
    /// Fail if the hit rate is lower, in percent
    #[arg(long, value_name = "PERCENT")]
    min_hit_rate: Option<f64>,
    #[command(flatten)]
    indexing: IndexingArgs,
    #[command(flatten)]
    target: TargetArgs,
}

impl Evaluate {
    /// Returns the evaluation. It uses an ephemeral local cloud unless servers are named.
    async fn into_request(self) -> Result<(Evaluation, TargetOptions), Failure> {
        let Self { folder, questions, chunks, tokens, indexing, target, .. } = self;
        let target = target.resolve(Some(Data::Ephemeral)).await?;
        let source = Source::new(evaluation_org(), "evaluated".to_owned(), None);
        let index = index_request(folder, source, &target, &indexing)?;
        Ok((Evaluation { index, questions, chunks, tokens }, target.options))
    }
}

pub(crate) async fn index(arguments: Index) -> Result<ExitCode, Failure> {
    let mut signals = ShutdownSignals::listen()?;
    // Watching ends with a signal, and only so.
    let interrupted = if arguments.watch { ExitCode::SUCCESS } else { ExitCode::from(INTERRUPTED) };
    let open = async {
        let (request, options) = arguments.into_request().await?;
        Ok::<_, Failure>((request, Target::open(options).await?))
    };
    let (request, target) = tokio::select! {
        opened = open => opened?,
        () = signals.wait() => return Ok(interrupted),
    };
    let result = tokio::select! {
        result = sources::index(&target, &request) => Some(result),
        () = signals.wait() => None,
    };
    target.close().await;
    let Some(summary) = result else { return Ok(interrupted) };
    print(&format!("{}\n", summary?))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn search(arguments: Search) -> Result<(), Failure> {
    let (request, options) = arguments.into_request().await?;
    let target = Target::open(options).await?;
    let report = sources::search_report(&target, &request).await;
    target.close().await;
    print(&report?)?;
    Ok(())
}

pub(crate) async fn evaluate(arguments: Evaluate) -> Result<(), Failure> {
    let min_rate = arguments.min_hit_rate;
    let (request, options) = arguments.into_request().await?;
    let target = Target::open(options).await?;
    let evaluated = sources::evaluate(&target, &request).await;
    target.close().await;
    let (rate, text) = evaluated?;
    print(&text)?;
    match min_rate {
        Some(minimum) if rate.percent() < minimum => {
            Err(format!("the hit rate of {:.1} % is below {minimum} %", rate.percent()).into())
        }
        _ => Ok(()),
    }
}

/// Returns the named org, or the signed-in user's org.
fn org_of(named: Option<OrgId>, own: Option<&str>) -> Result<OrgId, Failure> {
    match (named, own) {
        (Some(org), _) => Ok(org),
        (None, Some(own)) => Ok(OrgId::new(own)?),
        (None, None) => {
            let text = "Name the org with --org, or sign in to the stack with `aptix sign-in`.";
            Err(InvalidOption::new(text).into())
        }
    }
}

fn parse_question(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() {
        Err("the question is empty; search for at least one word")
    } else {
        Ok(text.to_owned())
    }
}

fn parse_repo(name: &str) -> Result<String, &'static str> {
    match name.trim() {
        "" => Err("the repository's name is empty"),
        name => Ok(name.to_owned()),
    }
}

fn parse_scope(text: &str) -> Result<Scope, String> {
    contracts::request::parse_scope(text.as_bytes())
        .map(Scope)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

fn index_request(
    folder: PathBuf,
    source: Source,
    target: &ResolvedTarget,
    indexing: &IndexingArgs,
) -> Result<sources::Index, InvalidOption> {
    let allowed_secrets = AllowedSecrets::new(indexing.allow_secret.iter().map(String::as_str));
    let allowed_secrets = allowed_secrets.map_err(InvalidOption::new)?;
    let options = Options {
        collection: target.collection.clone(),
        model: target.model.clone(),
        concurrency: usize::from(indexing.parallel),
        force: false,
        dry_run: false,
        chunk_length: ChunkLength::new(indexing.chunk_size),
        rules: Rules { max_file_bytes: indexing.max_file_size, allowed_secrets, ..Rules::default() },
    };
    let (price, verbose) = (indexing.price, indexing.verbose);
    Ok(sources::Index { folder, source, options, price, verbose, watch: false, remove: false })
}

/// Returns the org of an evaluation. No user belongs to it.
#[allow(clippy::expect_used, reason = "a constant that is a valid id")]
fn evaluation_org() -> OrgId {
    OrgId::new("evaluation").expect("a valid id")
}

fn parse_org(name: &str) -> Result<OrgId, InvalidId> {
    OrgId::new(name)
}
