//! Command-line arguments.

use std::path::{Path, PathBuf};

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use local::Function;

use crate::admin_cli::Admin;
use crate::approvals_cli::Approvals;
use crate::budgets_cli::Budgets;
use crate::chat::Chat;
use crate::clients_cli::Clients;
use crate::console_cli::Console;
use crate::contexts_cli::TableContexts;
use crate::crash_test::CrashTest;
use crate::doctor::Doctor;
use crate::documents_cli::{Connections, Contexts, Documents, Single, Webhooks};
use crate::failure::Failure;
use crate::gc_cli::Gc;
use crate::init::Init;
use crate::knowledge_cli::Knowledge;
use crate::model_args::ModelArgs;
use crate::sam_env_cli::SamEnv;
use crate::serve::Serve;
use crate::sessions_cli::Sessions;
use crate::sign_in_cli::{CreateUser, SignInArgs, SignOutArgs};
use crate::smoke::Smoke;
use crate::sources_cli::{Evaluate, Index, Search};
use crate::token_cli::Token;
use crate::usage_cli::Usage;

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
    /// Serve the web console for any deployment's API, or print the link to a running local cloud's console
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
    /// Manage the agents of your org, with their versions
    Agents {
        #[command(subcommand)]
        command: Contexts,
    },
    /// Manage the conversation contexts of your org, with their versions
    Conversations {
        #[command(subcommand)]
        command: Contexts,
    },
    /// Manage the modes of your org, with their versions
    Modes {
        #[command(subcommand)]
        command: Documents,
    },
    /// Manage the connections of your org: servers whose tools your agents may call, and their secrets
    Connections {
        #[command(subcommand)]
        command: Connections,
    },
    /// Manage the webhooks of your org: receivers of events, their secrets and deliveries
    Webhooks {
        #[command(subcommand)]
        command: Webhooks,
    },
    /// List the calls of tools that wait for you, and approve or deny them
    Approvals {
        #[command(subcommand)]
        command: Approvals,
    },
    /// Read or replace the settings of your org: defaults, policy, and disabled users, agents and models
    OrgSettings {
        #[command(subcommand)]
        command: Single,
    },
    /// Give documents to the agents of your org: upload, list and delete them
    Knowledge {
        #[command(subcommand)]
        command: Knowledge,
    },
    /// List, search, export, import and delete sessions
    Sessions {
        #[command(subcommand)]
        command: Sessions,
    },
    /// Manage agents, conversation contexts and modes in the table of a local cloud, or of a deployment with AWS credentials
    Contexts {
        #[command(subcommand)]
        command: TableContexts,
    },
    /// Assign orgs to client applications whose tokens name no org, in the table of a local cloud or of a deployment
    Clients {
        #[command(subcommand)]
        command: Clients,
    },
    /// List unreferenced objects of a running local cloud or a deployment, and optionally delete them
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
    /// Diagnose a deployment, and print a fix for each fault
    Doctor(Doctor),
    /// Run smoke tests against a deployment
    Smoke(Smoke),
    /// Kill functions in the middle of refunds, and count what happened twice; without a URL, in a local cloud of its own
    CrashTest(CrashTest),
    /// Report turns, tokens and costs of your org, or your own
    Usage(Usage),
    /// Read or replace the budgets of your org, or show their use
    Budgets {
        #[command(subcommand)]
        command: Budgets,
    },
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
    KnowledgeIndexer,
    Authorizer,
}

impl From<FunctionName> for Function {
    fn from(name: FunctionName) -> Self {
        match name {
            FunctionName::Execute => Self::Execute,
            FunctionName::ToolContinuation => Self::ToolContinuation,
            FunctionName::SessionRead => Self::SessionRead,
            FunctionName::TurnFinalizer => Self::TurnFinalizer,
            FunctionName::KnowledgeIndexer => Self::KnowledgeIndexer,
            FunctionName::Authorizer => Self::Authorizer,
        }
    }
}

/// Returns the completion script of a shell.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result<String, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "aptix", &mut script);
    Ok(String::from_utf8(script)?)
}

/// Writes a man page for each command.
pub(crate) fn write_man_pages(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)?;
    Ok(clap_mangen::generate_to(Cli::command(), folder)?)
}

#[cfg(test)]
mod tests;
