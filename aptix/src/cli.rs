//! Command-line arguments.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use local::{Data, Function, Logs, Oidc, Options, Vectors};

use crate::Failure;
use crate::admin_cli::Admin;
use crate::agents_cli::Agents;
use crate::api_args::ApiArgs;
pub(crate) use crate::bench_args::Bench;
use crate::budgets_cli::Budgets;
pub(crate) use crate::chat::Chat;
use crate::clients_cli::Clients;
pub(crate) use crate::doctor::Doctor;
pub(crate) use crate::folder_args::FolderArgs;
pub(crate) use crate::init::Init;
pub(crate) use crate::model_args::ModelArgs;
use crate::modes_cli::Modes;
pub(crate) use crate::sign_in_cli::{CreateUser, SignInArgs, SignOutArgs};
pub(crate) use crate::sources_cli::{Evaluate, Index, Search};
use crate::store_args::{StoreArgs, TableArgs};
pub(crate) use crate::usage_cli::Usage;
use crate::vector_args::VectorArgs;

/// Run a serverless backend for AI agents on this machine, and talk to any deployment of it
#[derive(Debug, Parser)]
#[command(name = "aptix", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) process: Option<Process>,
    #[command(flatten)]
    pub(crate) serve: Serve,
}

/// Role of this process.
#[derive(Debug, Subcommand)]
pub(crate) enum Process {
    #[command(flatten)]
    Command(Box<Command>),
    /// Run as a function; used by the local cloud to start its processes
    #[command(hide = true)]
    Function {
        /// Name of the function
        name: FunctionName,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the local cloud (the default command)
    Up(Box<Serve>),
    /// Create a project with an agent, its tools and a test
    Init(Init),
    /// Serve the web console for any deployment's API, or print the link to that of a running local cloud
    Console(Console),
    /// Chat with an agent in the terminal, or ask a single question
    Chat(Box<Chat>),
    /// Sign in to a deployment; the other commands then use its tokens
    SignIn(Box<SignInArgs>),
    /// Sign out of a deployment
    SignOut(SignOutArgs),
    /// Create a user in the user pool of a stack
    CreateUser(CreateUser),
    /// Print an API token of a local cloud, or of a deployment that you are signed in to
    Token(Token),
    /// Run a self-contained demo; nothing is persisted
    Demo(ModelArgs),
    /// Inspect, repair and restrict a deployment as an operator: turns, sessions, orgs, queues, keys and backups
    Admin {
        #[command(subcommand)]
        command: Admin,
    },
    /// Manage agents and conversation contexts, with their versions, over the API of any deployment
    Agents {
        #[command(subcommand)]
        command: Agents,
    },
    /// Manage the modes of your org, with their versions, over the API of any deployment
    Modes {
        #[command(subcommand)]
        command: Modes,
    },
    /// Manage the agent and conversation contexts of a running local cloud, or of a deployment
    Contexts {
        #[command(subcommand)]
        command: Contexts,
    },
    /// Manage the orgs of client applications whose tokens name none, in the table of a local cloud or of a deployment
    Clients {
        #[command(subcommand)]
        command: Clients,
    },
    /// List unreferenced objects of a running local cloud or of a deployment, and optionally delete them
    Gc(Gc),
    /// Index a folder of sources into the vector database
    Index(Index),
    /// Search the indexed sources
    Search(Search),
    /// Measure how often the right file is retrieved
    Evaluate(Evaluate),
    /// Print the settings reference, as stored in `docs/reference/settings.md`
    Settings,
    /// Write the files that `sam local` and `cargo lambda` need to run against a local cloud
    SamEnv(SamEnv),
    /// Diagnose a deployment, and say how to fix what is found
    Doctor(Doctor),
    /// Run smoke tests against a deployment
    Smoke(Smoke),
    /// Report turns, tokens and costs of your org, or your own
    Usage(Usage),
    /// Read or replace the budgets of your org, or show their use
    Budgets {
        #[command(subcommand)]
        command: Budgets,
    },
    /// Measure the overhead of a turn on top of the model: time, CPU, memory, AWS calls and cost
    Bench(Bench),
    /// Print the OpenAPI document, as stored in `infra/openapi.yaml`
    Openapi {
        /// OpenAPI version: 3.1 (YAML), or 3.0 (JSON) for client generators that need it
        #[arg(long, value_name = "VERSION", default_value = "3.1")]
        openapi_version: OpenapiVersion,
    },
    /// Print the completion script of a shell
    Completions {
        /// Shell that reads the script
        shell: Shell,
    },
    /// Write the man pages, one for each command
    Man {
        /// Folder of the pages
        folder: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Port of the API on 127.0.0.1; 0 picks a free one
    #[arg(long, default_value_t = 9000)]
    port: u16,
    /// Address on which the services listen; containers need one that they can reach
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    services_host: IpAddr,
    /// Port of DynamoDB; S3, SQS, the model and Qdrant take the next ones, and 0 picks free ones
    #[arg(long, value_name = "PORT", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=65_531))]
    services_port: u16,
    #[command(flatten)]
    pub(crate) folder: FolderArgs,
    /// Keep the state in a temporary folder that is deleted at the end
    #[arg(long, conflicts_with = "data")]
    ephemeral: bool,
    /// Duration of a turn's lease in seconds [default: the setting LEASE_SECONDS]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    lease_seconds: Option<u64>,
    /// Seconds between sweeps
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    sweep_seconds: u64,
    /// Maximum number of processes per function; beyond it requests wait up to a second, then get 429
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    concurrency: u16,
    /// Requests that a process serves at a time, as on Lambda Managed Instances; 1 starts a process for each
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    concurrency_per_process: u16,
    /// Program to start as the functions, in place of this one; benchmarks run their floor so
    #[arg(long, value_name = "PROGRAM")]
    function_program: Option<PathBuf>,
    /// Folder in which to record every event for a function, one file each
    #[arg(long, value_name = "FOLDER")]
    record_events: Option<PathBuf>,
    /// Print the functions' logs in full, instead of only model errors
    #[arg(long)]
    logs: bool,
    /// Environment variable for every function; NAME alone passes on its current value; can be repeated
    #[arg(long = "env", value_name = "NAME[=VALUE]", value_parser = parse_variable)]
    environment: Vec<(String, String)>,
    #[command(flatten)]
    oidc: OidcArgs,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    vectors: VectorArgs,
}

/// OpenID Connect options, which replace the tokens of `aptix token`. The mapping of claims is configured with the
/// functions' settings, through `--env`.
#[derive(Debug, Args)]
struct OidcArgs {
    /// OpenID Connect issuer, exactly as in the `iss` claim of its tokens
    #[arg(long, value_name = "URL", requires = "token_audiences")]
    oidc_issuer: Option<String>,
    /// Accepted token audiences, separated by commas
    #[arg(long, value_name = "NAMES", requires = "oidc_issuer")]
    token_audiences: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Token {
    /// Org of the user
    #[arg(long, required_unless_present_any = ["stack", "api_url"])]
    pub(crate) org: Option<String>,
    /// User id
    #[arg(long, required_unless_present_any = ["stack", "api_url"])]
    pub(crate) user: Option<String>,
    /// Set the operator claim
    #[arg(long)]
    pub(crate) operator: bool,
    /// Set the agent editor claim
    #[arg(long)]
    pub(crate) agent_editor: bool,
    /// Stack that you are signed in to
    #[arg(long, value_name = "NAME", conflicts_with_all = ["org", "user", "operator", "agent_editor", "data"])]
    pub(crate) stack: Option<String>,
    /// URL of an API that you are signed in to
    #[arg(long, value_name = "URL", conflicts_with_all = ["org", "user", "operator", "agent_editor", "data", "stack"])]
    pub(crate) api_url: Option<String>,
    #[command(flatten)]
    pub(crate) folder: FolderArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Contexts {
    /// List the contexts of an org
    List {
        /// Org that owns the contexts
        #[arg(long)]
        org: String,
        #[command(flatten)]
        table: TableArgs,
    },
    /// Print the JSON Schema of context files, for editors
    Schema,
    /// Print the contexts with an id, in the format of `put`
    Get {
        /// Id of the contexts
        id: String,
        /// Org that owns the contexts
        #[arg(long)]
        org: String,
        #[command(flatten)]
        table: TableArgs,
    },
    /// Validate and write the contexts of a JSON file; functions see them within a minute
    Put {
        /// JSON file with one context or a list of contexts
        file: PathBuf,
        /// Org that owns the contexts
        #[arg(long)]
        org: String,
        #[command(flatten)]
        table: TableArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Gc {
    /// Delete the listed objects
    #[arg(long)]
    pub(crate) remove: bool,
    /// Minimum age of an object in seconds; while turns are running, at least a function's timeout
    #[arg(long, value_name = "SECONDS", default_value_t = 86_400)]
    pub(crate) older_than: u64,
    #[command(flatten)]
    pub(crate) stores: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SamEnv {
    /// Host name or address of this machine inside a container, such as `host.docker.internal` with Docker Desktop
    /// [default: the services' address]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) host: Option<String>,
    /// SAM template
    #[arg(long, value_name = "FILE", default_value = "template.yaml")]
    pub(crate) template: PathBuf,
    /// Build folder, with a subfolder for each function named after its resource
    #[arg(long, value_name = "FOLDER", default_value = ".aws-sam/build")]
    pub(crate) build_dir: PathBuf,
    #[command(flatten)]
    pub(crate) folder: FolderArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Smoke {
    #[command(flatten)]
    pub(crate) api: ApiArgs,
    /// Instruction of the turns
    #[arg(long, value_name = "TEXT", default_value = bench::smoke::DEFAULT_INSTRUCTION)]
    pub(crate) instruction: String,
}

#[derive(Debug, Args)]
pub(crate) struct Console {
    /// URL of the API, from the stack output `ApiUrl` [default: print the link to a local cloud's console]
    #[arg(long, value_name = "URL")]
    pub(crate) api_url: Option<String>,
    /// Stack that you are signed in to
    #[arg(long, value_name = "NAME", conflicts_with = "api_url")]
    pub(crate) stack: Option<String>,
    /// A user token; without it, that of `aptix sign-in`, or one that the user types into the page. Read from the
    /// environment only, since others can see the command line.
    #[arg(skip = std::env::var("APTIX_TOKEN").ok())]
    pub(crate) token: Option<String>,
    /// Port of the console on 127.0.0.1; 0 picks a free one
    #[arg(long, default_value_t = 9001)]
    pub(crate) port: u16,
    #[command(flatten)]
    pub(crate) folder: FolderArgs,
}

/// A version of the OpenAPI specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OpenapiVersion {
    #[value(name = "3.1")]
    V3_1,
    #[value(name = "3.0")]
    V3_0,
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
    /// Converts the arguments to options, after a preflight check of the model provider.
    pub(crate) async fn options(self) -> Result<Options, Failure> {
        Ok(Options {
            port: self.port,
            services_host: self.services_host,
            services_port: self.services_port,
            data: if self.ephemeral { Data::Ephemeral } else { Data::Folder(self.folder.data) },
            executable: self.function_program,
            concurrency: usize::from(self.concurrency),
            concurrency_per_process: usize::from(self.concurrency_per_process),
            lease: self.lease_seconds.map(Duration::from_secs),
            sweep: Some(Duration::from_secs(self.sweep_seconds)),
            model: self.model.resolve().await?,
            vectors: match self.vectors.server() {
                Some(server) => Vectors::Server { url: server.url, api_key: server.key },
                None => Vectors::Embedded,
            },
            oidc: self
                .oidc
                .oidc_issuer
                .zip(self.oidc.token_audiences)
                .map(|(issuer, audiences)| Oidc { issuer, audiences }),
            environment: inherited_settings().chain(self.environment).collect(),
            event_folder: self.record_events,
            provider_messages: true,
            logs: if self.logs { Logs::All } else { Logs::ModelErrors },
            ..Options::default()
        })
    }
}

/// Returns the functions' settings from the shell's environment, so that their documentation holds here too. Settings
/// that the local cloud manages are left out.
fn inherited_settings() -> impl Iterator<Item = (String, String)> {
    let names = settings::ALL.iter().flat_map(|(_, settings)| *settings).map(|setting| setting.name());
    let managed = local::MANAGED_SETTINGS;
    let keys =
        std::env::var(settings::MODEL_PROVIDERS.name).map(|providers| provider_key_variables(&providers));
    let names = names.filter(move |name| !managed.contains(name)).map(str::to_owned);
    names.chain(keys.unwrap_or_default()).filter_map(|name| Some((name.clone(), std::env::var(&name).ok()?)))
}

/// Returns the variables with the keys of the model providers. Other errors in the setting are reported by the
/// functions.
fn provider_key_variables(providers: &str) -> Vec<String> {
    let providers = providers.trim_start_matches('\u{feff}');
    let providers: serde_json::Value = serde_json::from_str(providers).unwrap_or_default();
    let keys = providers
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|provider| provider.get("KeySetting")?.as_str());
    keys.map(str::to_owned).collect()
}

fn parse_variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        None if !text.is_empty() => {
            let value = std::env::var(text).map_err(|_| format!("the variable {text} is not set"))?;
            Ok((text.to_owned(), value))
        }
        _ => Err("expected NAME=VALUE or NAME".to_owned()),
    }
}
