//! The `aptix` command: runs the local cloud and its tools, and is the executable of every function.

#![allow(clippy::print_stdout, clippy::print_stderr)] // A command writes to its terminal.

mod admin_cli;
mod agents_cli;
mod api_args;
mod bench_args;
mod budgets_cli;
mod chat;
mod cli;
mod clients_cli;
mod context_calls;
mod doctor;
mod escape;
mod folder_args;
mod init;
mod invalid_option;
mod model_args;
mod modes_cli;
mod org_settings_cli;
mod sign_in_cli;
mod sources_cli;
mod stack_servers;
mod store_args;
mod text_table;
mod usage_cli;
mod vector_args;
mod workspace;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use bench::{SoakOptions, smoke::Deployment};
use clap::{CommandFactory, Parser};
use contracts::id::OrgId;
use deployment::Store;
use local::sources::{self, Target};
use local::token::Identity;
use local::{Cloud, Data, Model, Oidc, Options, sam_env};
use uuid::Uuid;

use api_args::{ApiAccess, ApiToken};
use cli::{
    Bench, Cli, Command, Console, Contexts, Evaluate, Gc, Index, OpenapiVersion, Process, SamEnv, Search,
    Serve, Smoke, Token,
};
use invalid_option::InvalidOption;

/// Exit status of a command with an invalid option, as `clap` uses it.
const INVALID_OPTION: u8 = 2;
/// Conventional exit status of a program that was interrupted with Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;

/// Time in which background work may finish when a command ends.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(200);

/// An error that ends the command. It is one line.
type Failure = Box<dyn std::error::Error + Send + Sync>;

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
    match result {
        Ok(code) => code,
        // The reader of the output, such as `head`, has closed the pipe.
        Err(error) if is_closed_pipe(error.as_ref()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", with_sources(error.as_ref()));
            if error.is::<InvalidOption>() { ExitCode::from(INVALID_OPTION) } else { ExitCode::FAILURE }
        }
    }
}

/// Writes to standard output.
fn print(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn is_closed_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

async fn run_command(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Up(arguments) => serve(*arguments).await?,
        Command::Init(arguments) => print(&init::run(&arguments)?)?,
        Command::Console(arguments) => console(arguments).await?,
        Command::Chat(arguments) => return chat::run(*arguments).await,
        Command::SignIn(arguments) => sign_in_cli::sign_in(*arguments).await?,
        Command::SignOut(arguments) => sign_in_cli::sign_out(arguments).await?,
        Command::CreateUser(arguments) => sign_in_cli::create_user(arguments).await?,
        Command::Token(token) => print_token(token).await?,
        Command::Demo(model) => return demo(model.resolve().await?).await,
        Command::Admin { command } => print(&admin_cli::run(command).await?)?,
        Command::Agents { command } => print(&agents_cli::run(command).await?)?,
        Command::Modes { command } => print(&modes_cli::run(command).await?)?,
        Command::Contexts { command } => print(&format!(
            "{}
",
            contexts(command).await?
        ))?,
        Command::Clients { command } => print(&clients_cli::run(command).await?)?,
        Command::Gc(arguments) => gc(arguments).await?,
        Command::Index(arguments) => return index(arguments).await,
        Command::Search(arguments) => search(arguments).await?,
        Command::Evaluate(arguments) => evaluate(arguments).await?,
        Command::Settings => print(&settings::page())?,
        Command::SamEnv(arguments) => write_sam_env(arguments).await?,
        Command::Doctor(arguments) => return doctor::run(arguments).await,
        Command::Smoke(arguments) => return smoke(arguments).await,
        Command::Budgets { command } => print(&budgets_cli::run(command).await?)?,
        Command::Usage(arguments) => print(&usage_cli::run(arguments).await?)?,
        Command::Bench(arguments) => bench(arguments).await?,
        Command::Openapi { openapi_version: OpenapiVersion::V3_1 } => print(&openapi::yaml()?)?,
        Command::Openapi { openapi_version: OpenapiVersion::V3_0 } => print(&openapi::json_3_0()?)?,
        Command::Completions { shell } => print(&completions(shell)?)?,
        Command::Man { folder } => write_man_pages(&folder)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the completion script of a shell.
fn completions(shell: clap_complete::Shell) -> Result<String, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "aptix", &mut script);
    Ok(String::from_utf8(script)?)
}

/// Writes a man page for each command.
fn write_man_pages(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)?;
    Ok(clap_mangen::generate_to(Cli::command(), folder)?)
}

/// Runs the benchmark. The machine is named first, since metrics depend on it.
async fn bench(arguments: Bench) -> Result<(), Failure> {
    let options = bench::Options {
        parts: arguments.only.into_iter().map(Into::into).collect(),
        turns: arguments.turns,
        rounds: arguments.rounds,
        program: std::env::current_exe()?,
        baseline: arguments.baseline,
        floor: arguments.floor,
        soak: SoakOptions {
            concurrency: usize::from(arguments.concurrency),
            max_growth: arguments.max_growth,
        },
        functions: arguments.functions,
    };
    // The file is created first, so that an error shows before the benchmark has run for minutes.
    let create = |path: &PathBuf| File::create(path).map_err(|error| format!("{}: {error}", path.display()));
    let mut json_file = arguments.json.as_ref().map(create).transpose()?;
    print(&format!("{}\n", bench::machine()))?;
    let metrics = bench::measure(&options, |what| eprintln!("… {what}")).await?;
    print(&metrics.to_string())?;
    if let Some(file) = &mut json_file {
        file.write_all(metrics.json_lines().as_bytes())?;
    }
    Ok(())
}

async fn contexts(command: Contexts) -> Result<String, Failure> {
    if let Contexts::List { org, .. } | Contexts::Get { org, .. } | Contexts::Put { org, .. } = &command {
        let valid = OrgId::new(org.as_str()).map_err(local::contexts::Error::Org);
        valid.map_err(InvalidOption::new)?;
    }
    let result = match command {
        Contexts::List { org, table } => local::contexts::list(&table.open().await?, &org).await,
        Contexts::Schema => Ok(local::contexts::schema()),
        Contexts::Get { id, org, table } => local::contexts::get(&table.open().await?, &org, &id).await,
        Contexts::Put { file, org, table } => local::contexts::put(&table.open().await?, &org, &file).await,
    };
    Ok(result?)
}

async fn gc(arguments: Gc) -> Result<(), Failure> {
    let Gc { remove, older_than, stores } = arguments;
    let is_unverified_pair = stores.is_unverified_pair();
    let stores = stores.open().await?;
    let print_key = |key: &str| {
        let _ = print(&format!("{key}\n"));
    };
    let min_age = Duration::from_secs(older_than);
    if remove && is_unverified_pair {
        local::gc::check_pair(&stores, min_age).await?;
    }
    let report = local::gc::run(&stores, min_age, remove, print_key).await?;
    let action = if remove { "deleted" } else { "delete them with --remove" };
    let text = format!(
        "{} of {} objects are unreferenced ({} bytes; {action}). Skipped: {} younger than {older_than} s, {} with an unrecognized key.",
        report.unreferenced, report.objects, report.bytes, report.recent, report.foreign
    );
    Ok(print(&format!("{text}\n"))?)
}

async fn index(arguments: Index) -> Result<ExitCode, Failure> {
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

async fn search(arguments: Search) -> Result<(), Failure> {
    let (request, options) = arguments.into_request().await?;
    let target = Target::open(options).await?;
    let report = sources::search(&target, &request).await;
    target.close().await;
    print(&report?)?;
    Ok(())
}

async fn evaluate(arguments: Evaluate) -> Result<(), Failure> {
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

/// Starts a local cloud, and each function once, so that a setting that a function refuses is an error of the start.
pub(crate) async fn start(options: Options) -> Result<Cloud, Failure> {
    let cloud = Cloud::start(options).await?;
    match cloud.check_functions().await {
        Ok(()) => Ok(cloud),
        Err(error) => {
            cloud.shutdown().await;
            Err(error.into())
        }
    }
}

async fn serve(arguments: Serve) -> Result<(), Failure> {
    // Registered first, so that a signal during the start is not lost.
    let mut signals = ShutdownSignals::listen()?;
    let options = arguments.options().await?;
    let (data, model, oidc) = (options.data.clone(), options.model.clone(), options.oidc.clone());
    let cloud = start(options).await?;
    print(&format!("{}\n", banner(&cloud, &data, &model, oidc.as_ref())?))?;
    signals.wait().await;
    // The reader of the output may be gone.
    let _ = print("Shutting down.\n");
    cloud.shutdown().await;
    Ok(())
}

async fn console(arguments: Console) -> Result<(), Failure> {
    let mut signals = ShutdownSignals::listen()?;
    let Console { api_url, stack, token, port, folder } = arguments;
    let queues = stack.clone().map(store_args::queue_source);
    let Some((api_url, token)) = console_target(api_url, stack, token)? else {
        let url = local::api_url(&folder.data).ok_or_else(|| local::NotRunning::on(&folder.data))?;
        let key = local::data_folder::console_key(&folder.data)?;
        return Ok(print(&format!("{}\n", local::console::page_url(&url, &key)))?);
    };
    let token = token.map(ApiToken::into_console);
    let server = match local::console::serve(&api_url, token, queues, port).await {
        Err(error @ local::console::Error::Url(_)) => return Err(InvalidOption::new(error).into()),
        served => served?,
    };
    let page = server.page_url();
    print(&format!("The console for {api_url} is running at {page}. Press Ctrl-C to stop it.\n"))?;
    signals.wait().await;
    Ok(())
}

/// Returns the URL of the API that a console is served for, with the caller's token if there is one.
fn console_target(
    api_url: Option<String>,
    stack: Option<String>,
    token: Option<String>,
) -> Result<Option<(String, Option<ApiToken>)>, Failure> {
    let token = token.filter(|token| !token.is_empty());
    let is_signed_in = match (&api_url, Store::open()) {
        (Some(url), Ok(store)) => store.find(url)?.is_some(),
        _ => false,
    };
    match api_url {
        // The user types the token into the page.
        Some(url) if token.is_none() && !is_signed_in => Ok(Some((url, None))),
        None if stack.is_none() => Ok(None),
        url => {
            let access = api_args::resolve(url, stack, token)?;
            Ok(access.map(|ApiAccess { url, token }| (url, Some(token))))
        }
    }
}

async fn demo(model: Model) -> Result<ExitCode, Failure> {
    let mut signals = ShutdownSignals::listen()?;
    let cloud = start(Options { model, provider_messages: true, ..Options::default() }).await?;
    let result = tokio::select! {
        result = local::demo(&cloud) => Some(result),
        () = signals.wait() => None,
    };
    cloud.shutdown().await;
    let Some(transcript) = result else { return Ok(ExitCode::from(INTERRUPTED)) };
    print(&transcript?)?;
    Ok(ExitCode::SUCCESS)
}

async fn write_sam_env(arguments: SamEnv) -> Result<(), Failure> {
    let SamEnv { host, template, build_dir, folder, model } = arguments;
    let model = model.resolve().await?;
    if let Model::Bedrock { .. } = model {
        let reason = "sam-env can't hand AWS credentials to functions outside the local cloud";
        return Err(InvalidOption::new(reason).into());
    }
    let request = sam_env::Request { data: folder.data, host, template, build_dir, model };
    let sam_env::OutputFiles { template, variables, env_file } = sam_env::write(&request)?;
    let (template, variables) = (template.display(), variables.display());
    let text = format!(
        "sam local start-api --template {template} --env-vars {variables}
sam local invoke ExecuteFunction --event events/execute.json --template {template} --env-vars {variables}
cargo lambda watch --invoke-address 127.0.0.1 --invoke-port 9001 --ignore-changes --env-file {env_file}",
        env_file = env_file.display()
    );
    Ok(print(&format!("{text}\n"))?)
}

async fn smoke(arguments: Smoke) -> Result<ExitCode, Failure> {
    let Smoke { api, instruction } = arguments;
    let ApiAccess { url, token } = api.require()?;
    let (api_url, token) = (url.trim_end_matches('/').to_owned(), token.fetch().await?);
    let report = bench::smoke::run(&Deployment { api_url, token, instruction }).await;
    print(&report.to_string())?;
    Ok(if report.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn print_token(arguments: Token) -> Result<(), Failure> {
    let Token { org, user, operator, agent_editor, stack, api_url, folder } = arguments;
    if let Some(access) = api_args::resolve(api_url, stack, None)? {
        return Ok(print(&format!("{}\n", access.token.fetch().await?))?);
    }
    let tokens = local::data_folder::tokens(&folder.data)?;
    let identity = Identity::user(org.unwrap_or_default(), user.unwrap_or_default());
    Ok(print(&format!("{}\n", tokens.sign(&Identity { operator, agent_editor, ..identity })?))?)
}

/// Returns the banner: every URL, and a command to paste.
fn banner(cloud: &Cloud, data: &Data, model: &Model, oidc: Option<&Oidc>) -> Result<String, Failure> {
    let endpoints = cloud.endpoints();
    let persistence = match data {
        Data::Folder(_) => "persistent",
        Data::Ephemeral => "temporary",
    };
    let model_kind = match model {
        Model::Mock(_) => " (mock model; set OPENAI_API_KEY or pass --provider to use a real one)",
        Model::Provider { .. } | Model::Bedrock { .. } => "",
    };
    let (token, caller) = match oidc {
        None => (cloud.token(&Identity::user("acme", "ada"))?, "as ada of acme".to_owned()),
        Some(Oidc { issuer, .. }) => ("TOKEN".to_owned(), format!("with a TOKEN from {issuer}")),
    };
    let id = || Uuid::new_v4().simple().to_string();
    Ok(format!(
        "The local cloud is running. Press Ctrl-C to stop it.

  API       {api}
  Console   {console}
  Docs      {api}/docs (OpenAPI document: {api}/openapi.yaml)
  DynamoDB  {dynamodb}
  S3        {s3}
  SQS       {sqs}
  Qdrant    {qdrant}
  Model     {model}{model_kind}
  Data      {folder} ({persistence})

Run a turn {caller}:

curl -sS {api}{execute} -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' -d '{{\"SessionId\":\"{session}\",\"TurnId\":\"{turn}\",\"Instruction\":\"Hello! What are you?\"}}'
",
        api = endpoints.api,
        console = cloud.console_url(),
        execute = contracts::paths::EXECUTE,
        dynamodb = endpoints.dynamodb,
        s3 = endpoints.s3,
        sqs = endpoints.sqs,
        qdrant = endpoints.qdrant,
        model = endpoints.model,
        folder = cloud.data_folder().display(),
        session = id(),
        turn = id(),
    ))
}

/// Signals that stop the process.
struct ShutdownSignals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    /// Sent when the terminal is closed.
    #[cfg(unix)]
    hangup: tokio::signal::unix::Signal,
}

impl ShutdownSignals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            terminate: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?,
            #[cfg(unix)]
            interrupt: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())?,
            #[cfg(unix)]
            hangup: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup())?,
        })
    }

    async fn wait(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hangup.recv() => {}
        }
        #[cfg(not(unix))]
        let _ = tokio::signal::ctrl_c().await;
    }
}

/// Formats an error and its causes on one line.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        // A cause is joined to one line; our own multi-line messages stay as they are.
        let cause_text = cause.to_string().replace('\n', " ");
        // Some messages already include their cause.
        if !line.contains(&cause_text) {
            line.push_str(": ");
            line.push_str(&cause_text);
        }
        source = cause.source();
    }
    line
}
