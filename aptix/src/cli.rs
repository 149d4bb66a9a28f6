//! The command line.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use local::bench::Part;
use local::{Data, Function, Logs, Oidc, Options, Vectors};

use crate::Failure;
pub(crate) use crate::chat::Chat;
pub(crate) use crate::folder::Folder;
pub(crate) use crate::model_args::ModelArgs;
pub(crate) use crate::sources_cli::{Evaluate, Index, Search};
use crate::vector_args::VectorArgs;

/// Runs the whole serverless backend on this machine.
#[derive(Debug, Parser)]
#[command(name = "aptix", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) process: Option<Process>,
    #[command(flatten)]
    pub(crate) serve: Serve,
}

/// What this process is.
#[derive(Debug, Subcommand)]
pub(crate) enum Process {
    #[command(flatten)]
    Command(Box<Command>),
    /// Be a function: how the local cloud starts its processes.
    #[command(hide = true)]
    Function {
        /// Which one.
        name: FunctionName,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the local cloud, as without a command.
    Up(Box<Serve>),
    /// Serve the console on this machine, for any deployment's API. A running local cloud serves it by itself.
    Console(Console),
    /// Talk with an agent in the terminal, or ask it one question.
    Chat(Box<Chat>),
    /// Print a token that the API accepts.
    Token(Token),
    /// Start an ephemeral cloud, hold a short conversation, read it back, and end.
    Demo(ModelArgs),
    /// List, print and write the agent and conversation contexts of a running local cloud.
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
    /// Measure what a turn costs on top of the model: time, CPU, memory, calls of AWS, units and money.
    Bench(Bench),
    /// Print the API's OpenAPI document, as `infra/openapi.yaml` holds it.
    Openapi {
        /// In OpenAPI 3.0, as generators of clients take it; `infra/openapi-3.0.json` holds it.
        #[arg(long)]
        generators: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// What is measured; growth takes minutes
    #[arg(long, value_delimiter = ',', value_name = "PART", default_values = ["turns", "calls", "start"])]
    pub(crate) only: Vec<BenchPart>,
    /// Turns of each load, in each round; a tenth of it where the model takes its time
    #[arg(long, default_value_t = 200)]
    pub(crate) turns: usize,
    /// Rounds, of which the median counts
    #[arg(long, default_value_t = 3)]
    pub(crate) rounds: usize,
    /// Another build of this program: its functions are measured beside, by turns
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) baseline: Option<PathBuf>,
    /// A file that gets the figures too, a line of JSON each
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// A folder of the functions' own programs and zips, whose starts and sizes are told (`target/lambda` after
    /// `scripts/zips`)
    #[arg(long, value_name = "FOLDER")]
    pub(crate) functions: Option<PathBuf>,
}

/// A part of the measurement.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum BenchPart {
    /// Turns under several loads: time, CPU and memory
    Turns,
    /// What a turn asks of AWS, and what that costs
    Calls,
    /// From the start of a function to its first poll
    Start,
    /// Late turns beside early ones, lists and reads beside much and little
    Growth,
}

impl From<BenchPart> for Part {
    fn from(part: BenchPart) -> Self {
        match part {
            BenchPart::Turns => Self::Turns,
            BenchPart::Calls => Self::Calls,
            BenchPart::Start => Self::Start,
            BenchPart::Growth => Self::Growth,
        }
    }
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
    /// Print all of the functions' logs here, and not only what goes wrong with the model.
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

/// Whose tokens count, in the place of those that `aptix token` prints. How claims become a caller is said by the settings
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
    /// List the contexts of an org.
    List {
        /// The org.
        #[arg(long)]
        org: String,
        #[command(flatten)]
        folder: Folder,
    },
    /// Print the JSON Schema of what `put` takes, for editors.
    Schema,
    /// Print the contexts of an id, as `put` takes them.
    Get {
        /// The id.
        id: String,
        /// The org.
        #[arg(long)]
        org: String,
        #[command(flatten)]
        folder: Folder,
    },
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
    #[arg(long, env = "APTIX_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    pub(crate) token: String,
    /// What its two turns ask.
    #[arg(long, value_name = "TEXT", default_value = local::smoke::INSTRUCTION)]
    pub(crate) instruction: String,
}

#[derive(Debug, Args)]
pub(crate) struct Console {
    /// The API's URL, as the stack's output `ApiUrl` says it.
    #[arg(long, value_name = "URL")]
    pub(crate) api_url: String,
    /// A token of a user; typed into the page where it is absent. Only from the environment, since others can see a
    /// command line.
    #[arg(skip = std::env::var("APTIX_TOKEN").ok())]
    pub(crate) token: Option<String>,
    /// The console's port on 127.0.0.1; 0 is any free one.
    #[arg(long, default_value_t = 9001)]
    pub(crate) port: u16,
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
    /// What is asked for, once its model is known to answer.
    pub(crate) async fn options(self) -> Result<Options, Failure> {
        Ok(Options {
            port: self.port,
            services_host: self.services_host,
            services_port: self.services_port,
            data: if self.ephemeral { Data::Ephemeral } else { Data::Folder(self.folder.data) },
            concurrency: usize::from(self.concurrency),
            lease: self.lease.map(Duration::from_secs),
            sweep: Some(Duration::from_secs(self.sweep)),
            model: self.model.tried().await?,
            vectors: match self.vectors.server() {
                Some(server) => Vectors::Server { url: server.url, api_key: server.key },
                None => Vectors::Embedded,
            },
            oidc: self
                .oidc
                .oidc_issuer
                .zip(self.oidc.token_audiences)
                .map(|(issuer, audiences)| Oidc { issuer, audiences }),
            environment: settings_here().chain(self.environment).collect(),
            events: self.events,
            logs: if self.logs { Logs::All } else { Logs::Trouble },
            ..Options::default()
        })
    }
}

/// The functions' settings that this shell has, so that what the documentation says of them holds here too. What the local
/// cloud decides itself is left out.
fn settings_here() -> impl Iterator<Item = (String, String)> {
    let names = settings::ALL.iter().flat_map(|(_, settings)| *settings).map(|setting| setting.name());
    let own = local::DECIDED_HERE;
    let keys = std::env::var(settings::MODEL_PROVIDERS.name).map(|declared| keys_of(&declared));
    let names = names.filter(move |name| !own.contains(name)).map(str::to_owned);
    names.chain(keys.unwrap_or_default()).filter_map(|name| Some((name.clone(), std::env::var(&name).ok()?)))
}

/// The variables with the keys of declared providers. What else is wrong with the setting the functions say.
fn keys_of(declared: &str) -> Vec<String> {
    let declared: serde_json::Value = serde_json::from_str(declared).unwrap_or_default();
    let keys =
        declared.as_array().into_iter().flatten().filter_map(|provider| provider.get("KeySetting")?.as_str());
    keys.map(str::to_owned).collect()
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
