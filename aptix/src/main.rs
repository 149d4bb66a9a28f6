//! The `aptix` command: runs the local cloud and its tools, and is the executable of every function.

#![allow(clippy::print_stdout, clippy::print_stderr)] // A command writes to its terminal.

mod admin_cli;
mod api_args;
mod approvals_cli;
mod budgets_cli;
mod chat;
mod cli;
mod clients_cli;
mod confirmation;
mod console_cli;
mod contexts_cli;
mod crash_test;
mod doctor;
mod documents_cli;
mod escape;
mod failure;
mod folder_args;
mod gc_cli;
mod init;
mod knowledge_cli;
mod model_args;
mod output;
mod sam_env_cli;
mod serve;
mod sessions_cli;
mod shutdown_signals;
mod sign_in_cli;
mod smoke;
mod sources_cli;
mod stack_servers;
mod store_args;
mod switch_cli;
mod token_cli;
mod usage_cli;
mod vector_args;
mod workspace;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use cli::{Cli, Command, OpenapiVersion, Process};
use contracts::paths::ORG_SETTINGS;
use documents_cli::{AGENTS, CONVERSATIONS, MODES, run_connections, run_context, run_single, run_webhooks};
use failure::Failure;
use output::print;

/// Time in which background work may finish when a command ends.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.process {
        // A function creates its own runtime, as in Lambda.
        Some(Process::Function { name }) => local::run_function(name.into()),
        Some(Process::Command(command)) => run(*command),
        None => run(Command::Up(Box::new(cli.serve))),
    }
}

fn run(command: Command) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let result = runtime.map_err(Failure::from).and_then(|runtime| {
        let result = runtime.block_on(run_command(command));
        // Dropping the runtime would wait for work that nothing can cancel, such as parsing a file.
        runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
        result
    });
    failure::exit_code(result)
}

async fn run_command(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Up(arguments) => serve::serve(*arguments).await?,
        Command::Init(arguments) => print(&init::run(&arguments)?)?,
        Command::Console(arguments) => console_cli::run(arguments).await?,
        Command::Chat(arguments) => return chat::run(*arguments).await,
        Command::SignIn(arguments) => sign_in_cli::sign_in(*arguments).await?,
        Command::SignOut(arguments) => sign_in_cli::sign_out(arguments).await?,
        Command::CreateUser(arguments) => sign_in_cli::create_user(arguments).await?,
        Command::Token(token) => token_cli::run(token).await?,
        Command::Demo(model) => return serve::demo(model.resolve().await?).await,
        Command::Admin { command } => print(&admin_cli::run(command).await?)?,
        Command::Agents { command } => print(&run_context(AGENTS, command).await?)?,
        Command::Conversations { command } => print(&run_context(CONVERSATIONS, command).await?)?,
        Command::Modes { command } => print(&documents_cli::run(MODES, command).await?)?,
        Command::Connections { command } => print(&run_connections(command).await?)?,
        Command::Webhooks { command } => print(&run_webhooks(command).await?)?,
        Command::OrgSettings { command } => print(&run_single(ORG_SETTINGS, command).await?)?,
        Command::Approvals { command } => approvals_cli::run(command).await?,
        Command::Knowledge { command } => knowledge_cli::run(command).await?,
        Command::Sessions { command } => sessions_cli::run(command).await?,
        Command::Contexts { command } => print(&contexts_cli::run(command).await?)?,
        Command::Clients { command } => print(&clients_cli::run(command).await?)?,
        Command::Gc(arguments) => gc_cli::run(arguments).await?,
        Command::Index(arguments) => return sources_cli::index(arguments).await,
        Command::Search(arguments) => sources_cli::search(arguments).await?,
        Command::Evaluate(arguments) => sources_cli::evaluate(arguments).await?,
        Command::Settings => print(&settings::page())?,
        Command::SamEnv(arguments) => sam_env_cli::run(arguments).await?,
        Command::Doctor(arguments) => return doctor::run(arguments).await,
        Command::CrashTest(arguments) => return crash_test::run(arguments).await,
        Command::Smoke(arguments) => return smoke::smoke(arguments).await,
        Command::Budgets { command } => print(&budgets_cli::run(command).await?)?,
        Command::Usage(arguments) => print(&usage_cli::run(arguments).await?)?,
        Command::Openapi { openapi_version: OpenapiVersion::V3_1 } => print(&openapi::yaml()?)?,
        Command::Openapi { openapi_version: OpenapiVersion::V3_0 } => print(&openapi::json_3_0()?)?,
        Command::Completions { shell } => print(&cli::completions(shell)?)?,
        Command::Man { folder } => cli::write_man_pages(&folder)?,
    }
    Ok(ExitCode::SUCCESS)
}
