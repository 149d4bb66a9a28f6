//! The command line.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use local::{Data, Function, Model, Oidc, Options, Vectors};
use scripted_model::Provider;

pub(crate) use crate::sources_cli::{Evaluate, Index, Search};
use crate::vector_args::VectorArgs;

/// Runs the whole serverless backend on this machine.
#[derive(Debug, Parser)]
#[command(name = "local", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) serve: Serve,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print a token that the API accepts.
    Token(Token),
    /// Start an ephemeral cloud, hold a short conversation, read it back, and end.
    Demo(ModelArgs),
    /// Write agent and conversation contexts into a running local cloud.
    Contexts {
        #[command(subcommand)]
        command: Contexts,
    },
    /// List the objects of a running local cloud that no item refers to, and remove them if so asked.
    Reconcile(Reconcile),
    /// Bring a folder of sources into the vector database.
    Index(Index),
    /// Ask the indexed sources a question.
    Search(Search),
    /// Index a folder and count how often the file that answers a question is found.
    Evaluate(Evaluate),
    /// Print the functions' settings, as `docs/settings.md` holds them.
    Settings,
    /// Write what `sam local` and `cargo lambda` need to run the functions against a running local cloud.
    SamEnv(SamEnv),
    /// Try a deployment: a turn, a stream, reads, and what the gateway refuses.
    Smoke(Smoke),
    /// Print the API's OpenAPI document, as `infra/openapi.yaml` holds it.
    Openapi,
    /// Be a function: how the local cloud starts its processes.
    #[command(hide = true)]
    Function {
        /// Which one.
        name: FunctionName,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The API's port on 127.0.0.1; 0 is any free one.
    #[arg(long, default_value_t = 9000)]
    port: u16,
    /// Where the services listen; an address of this machine that containers reach, to run functions in those.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    services_host: IpAddr,
    /// The port of DynamoDB; S3, SQS, the model and Qdrant have the next ones. 0 is any free ports.
    #[arg(long, value_name = "PORT", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=65_531))]
    services_port: u16,
    #[command(flatten)]
    pub(crate) folder: Folder,
    /// Keep nothing: all state is gone at the end.
    #[arg(long, conflicts_with = "data")]
    ephemeral: bool,
    /// How long an attempt owns its turn, in seconds.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    lease: Option<u64>,
    /// Time between sweeps, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    sweep: u64,
    /// Processes per function, at most; past it the API answers 429.
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    concurrency: u16,
    /// Write each event that a function gets into this folder, a file each.
    #[arg(long, value_name = "FOLDER")]
    events: Option<PathBuf>,
    /// Print the functions' logs here too.
    #[arg(long)]
    logs: bool,
    /// One more environment variable for every function; may be repeated. Of NAME alone the value is this command's own.
    #[arg(long = "env", value_name = "NAME[=VALUE]", value_parser = assignment)]
    environment: Vec<(String, String)>,
    #[command(flatten)]
    oidc: OidcArgs,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    vectors: VectorArgs,
}

/// Whose tokens count, in the place of those that `local token` prints. How claims become a caller is said by the settings
/// of the same function, with `--env`.
#[derive(Debug, Args)]
struct OidcArgs {
    /// An OpenID Connect provider: the `iss` of its tokens, to the letter.
    #[arg(long, value_name = "URL", requires = "token_audiences")]
    oidc_issuer: Option<String>,
    /// The clients or APIs whose tokens count, with commas between them.
    #[arg(long, value_name = "NAMES", requires = "oidc_issuer")]
    token_audiences: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Folder {
    /// The folder that keeps the state.
    #[arg(long, value_name = "FOLDER", default_value = ".local-cloud")]
    pub(crate) data: PathBuf,
}

/// The provider that answers; the built-in scripted model when base URL or key is missing.
#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// The base URL of a provider that speaks the Responses API.
    #[arg(long, env = "OPENAI_BASE_URL", value_name = "URL")]
    model_base_url: Option<String>,
    /// Its key. Only from the environment, since others can see a command line.
    #[arg(skip = std::env::var("OPENAI_API_KEY").ok())]
    model_api_key: Option<String>,
    /// The model's name.
    #[arg(long, env = "OPENAI_MODEL", value_name = "NAME")]
    model_name: Option<String>,
    /// Whom the scripted model plays: openai, openai-zdr, azure, openrouter, vllm, ollama, lmstudio or llamacpp.
    #[arg(long, value_name = "NAME", default_value_t)]
    provider: Provider,
}

#[derive(Debug, Args)]
pub(crate) struct Token {
    /// The org.
    #[arg(long)]
    pub(crate) org: String,
    /// The user.
    #[arg(long)]
    pub(crate) user: String,
    /// Set the operator claim too.
    #[arg(long)]
    pub(crate) operator: bool,
    #[command(flatten)]
    pub(crate) folder: Folder,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Contexts {
    /// Check the contexts of a JSON file and write them. Functions see them within a minute.
    Put {
        /// The file: one context, or a list of them.
        file: PathBuf,
        /// The org.
        #[arg(long)]
        org: String,
        #[command(flatten)]
        folder: Folder,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Reconcile {
    /// Remove what is listed. Without this nothing is changed.
    #[arg(long)]
    pub(crate) remove: bool,
    /// Leave alone what is younger, in seconds. While turns run, no less than a function's longest time.
    #[arg(long, value_name = "SECONDS", default_value_t = 86_400)]
    pub(crate) older_than: u64,
    #[command(flatten)]
    pub(crate) folder: Folder,
}

#[derive(Debug, Args)]
pub(crate) struct SamEnv {
    /// How a container reaches this machine, if not as the services say: `host.docker.internal` with Docker Desktop.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) host: Option<String>,
    /// The template.
    #[arg(long, value_name = "FILE", default_value = "template.yaml")]
    pub(crate) template: PathBuf,
    /// Where the functions were built: a folder for each, with the name of its resource.
    #[arg(long, value_name = "FOLDER", default_value = ".aws-sam/build")]
    pub(crate) built: PathBuf,
    #[command(flatten)]
    pub(crate) folder: Folder,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Smoke {
    /// The API's URL, as the stack's output `ApiUrl` says it.
    #[arg(long, value_name = "URL")]
    pub(crate) api_url: String,
    /// A token of a user. Others can see a command line: better only from the environment.
    #[arg(long, env = "API_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    pub(crate) token: String,
    /// What its two turns ask.
    #[arg(long, value_name = "TEXT", default_value = local::smoke::INSTRUCTION)]
    pub(crate) instruction: String,
}

/// A function's name on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum FunctionName {
    Execute,
    ToolContinuation,
    SessionRead,
    TurnFinalizer,
    Authorizer,
}

impl From<FunctionName> for Function {
    fn from(name: FunctionName) -> Self {
        match name {
            FunctionName::Execute => Self::Execute,
            FunctionName::ToolContinuation => Self::ToolContinuation,
            FunctionName::SessionRead => Self::SessionRead,
            FunctionName::TurnFinalizer => Self::TurnFinalizer,
            FunctionName::Authorizer => Self::Authorizer,
        }
    }
}

impl Serve {
    /// What is asked for.
    pub(crate) fn options(self) -> Options {
        Options {
            port: self.port,
            services_host: self.services_host,
            services_port: self.services_port,
            data: if self.ephemeral { Data::Ephemeral } else { Data::Folder(self.folder.data) },
            concurrency: usize::from(self.concurrency),
            lease: self.lease.map(Duration::from_secs),
            sweep: Some(Duration::from_secs(self.sweep)),
            model: self.model.model(),
            vectors: match self.vectors.server() {
                Some(server) => Vectors::Server { url: server.url, api_key: server.key },
                None => Vectors::Embedded,
            },
            oidc: self
                .oidc
                .oidc_issuer
                .zip(self.oidc.token_audiences)
                .map(|(issuer, audiences)| Oidc { issuer, audiences }),
            environment: embedding().chain(self.environment).collect(),
            events: self.events,
            echo_logs: self.logs,
            ..Options::default()
        }
    }
}

impl ModelArgs {
    /// Who answers.
    pub(crate) fn model(self) -> Model {
        let given = |value: Option<String>| value.filter(|value| !value.is_empty());
        match (given(self.model_base_url), given(self.model_api_key)) {
            (Some(base_url), Some(api_key)) => {
                Model::Provider { base_url, api_key, name: given(self.model_name) }
            }
            _ => Model::Scripted(self.provider),
        }
    }
}

/// What says which sources are searched, and who makes vectors: for the functions as for the commands.
fn embedding() -> impl Iterator<Item = (String, String)> {
    const NAMES: [&str; 5] = [
        "QDRANT_COLLECTION",
        "EMBEDDING_MODEL",
        "EMBEDDING_DIMENSIONS",
        "EMBEDDING_BASE_URL",
        "EMBEDDING_API_KEY",
    ];
    NAMES.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        None if !text.is_empty() => {
            let value = std::env::var(text).map_err(|_| format!("{text} is not set"))?;
            Ok((text.to_owned(), value))
        }
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}
