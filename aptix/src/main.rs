//! The `aptix` command: serves the local cloud, prints tokens, runs the demo, and is every function.

#![allow(clippy::print_stdout, clippy::print_stderr)] // A command talks to its terminal.

mod chat;
mod cli;
mod folder;
mod model_args;
mod sources_cli;
mod vector_args;
mod workspace;

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use local::smoke::Deployment;
use local::sources::{self, Place};
use local::token::Identity;
use local::{Cloud, Data, Model, Oidc, Options, sam_env};
use uuid::Uuid;

use cli::{
    Bench, Cli, Command, Console, Contexts, Evaluate, Index, Process, Reconcile, SamEnv, Search, Serve,
    Smoke, Token,
};

/// Whatever ends the command early. It is one line.
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.process {
        // A function brings its own runtime, as in Lambda.
        Some(Process::Function { name }) => local::run_function(name.into()),
        Some(Process::Command(command)) => run(*command),
        None => run(Command::Up(Box::new(cli.serve))),
    }
}

fn run(command: Command) -> ExitCode {
    let done = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::from)
        .and_then(|runtime| runtime.block_on(run_command(command)));
    match done {
        Ok(code) => code,
        // Whoever read along has read enough.
        Err(error) if is_closed_pipe(error.as_ref()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", with_sources(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

/// Writes to the terminal, or to whatever reads from this.
fn say(text: &str) -> std::io::Result<()> {
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
        Command::Console(arguments) => console(arguments).await?,
        Command::Chat(arguments) => return chat::run(*arguments).await,
        Command::Token(token) => print_token(&token)?,
        Command::Demo(model) => demo(model.tried().await?).await?,
        Command::Contexts { command } => say(&format!(
            "{}
",
            contexts(command).await?
        ))?,
        Command::Reconcile(arguments) => reconcile(&arguments).await?,
        Command::Index(arguments) => index(arguments).await?,
        Command::Search(arguments) => search(arguments).await?,
        Command::Evaluate(arguments) => evaluate(arguments).await?,
        Command::Settings => say(&settings::page())?,
        Command::SamEnv(arguments) => write_sam_env(arguments).await?,
        Command::Smoke(arguments) => return smoke(arguments).await,
        Command::Bench(arguments) => bench(arguments).await?,
        Command::Openapi { generators: false } => say(&local::docs::openapi()?)?,
        Command::Openapi { generators: true } => say(&contracts::openapi::plain_json()?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Figures depend on the machine: it is named above them.
async fn bench(arguments: Bench) -> Result<(), Failure> {
    let options = local::bench::Options {
        parts: arguments.only.into_iter().map(Into::into).collect(),
        turns: arguments.turns,
        rounds: arguments.rounds,
        program: std::env::current_exe()?,
        baseline: arguments.baseline,
        functions: arguments.functions,
    };
    // A file that can't be had is told before the minutes that it takes, not after them.
    let create = |path: &PathBuf| File::create(path).map_err(|error| format!("{}: {error}", path.display()));
    let mut file = arguments.json.as_ref().map(create).transpose()?;
    say(&format!("{}\n", local::bench::machine()))?;
    let figures = local::bench::measure(&options, |what| eprintln!("… {what}")).await?;
    say(&figures.to_string())?;
    if let Some(file) = &mut file {
        file.write_all(figures.json_lines().as_bytes())?;
    }
    Ok(())
}

async fn contexts(command: Contexts) -> Result<String, Failure> {
    Ok(match command {
        Contexts::List { org, folder } => local::contexts::list(&folder.data, &org).await?,
        Contexts::Schema => local::contexts::schema(),
        Contexts::Get { id, org, folder } => local::contexts::get(&folder.data, &org, &id).await?,
        Contexts::Put { file, org, folder } => local::contexts::put(&folder.data, &org, &file).await?,
    })
}

async fn reconcile(arguments: &Reconcile) -> Result<(), Failure> {
    let Reconcile { remove, older_than, folder } = arguments;
    let tell = |key: &str| {
        let _ = say(&format!("{key}\n"));
    };
    let at_least = std::time::Duration::from_secs(*older_than);
    let found = local::reconcile::reconcile(&folder.data, at_least, *remove, tell).await?;
    let done = if *remove { "were removed" } else { "can be removed with --remove" };
    let told = format!(
        "{} of {} objects, {} bytes, {done}; {} are younger than {older_than} s, {} are none of ours.",
        found.unneeded, found.objects, found.bytes, found.young, found.foreign
    );
    Ok(say(&format!("{told}\n"))?)
}

async fn index(arguments: Index) -> Result<(), Failure> {
    let mut interrupted = Interruption::new()?;
    let (asked, named) = arguments.asked();
    let place = Place::open(named).await?;
    let done = tokio::select! {
        done = sources::index(&place, &asked) => done.map(|told| format!("{told}\n")),
        () = interrupted.wait() => Ok(String::new()),
    };
    place.close().await;
    Ok(say(&done?)?)
}

async fn search(arguments: Search) -> Result<(), Failure> {
    let (asked, named) = arguments.asked();
    let place = Place::open(named).await?;
    let found = sources::search(&place, &asked).await;
    place.close().await;
    say(&found?)?;
    Ok(())
}

async fn evaluate(arguments: Evaluate) -> Result<(), Failure> {
    let at_least = arguments.at_least;
    let (asked, named) = arguments.asked();
    let place = Place::open(named).await?;
    let evaluated = sources::evaluate(&place, &asked).await;
    place.close().await;
    let (rate, told) = evaluated?;
    say(&told)?;
    match at_least {
        Some(least) if rate.percent() < least => Err(format!("fewer than {least} % were found").into()),
        _ => Ok(()),
    }
}

async fn serve(arguments: Serve) -> Result<(), Failure> {
    // Asked for first, so that a signal during the start is not lost.
    let mut interrupted = Interruption::new()?;
    let options = arguments.options().await?;
    let (data, model, oidc) = (options.data.clone(), options.model.clone(), options.oidc.clone());
    let cloud = Cloud::start(options).await?;
    say(&format!("{}\n", welcome(&cloud, &data, &model, oidc.as_ref())?))?;
    interrupted.wait().await;
    // Whoever started it may be gone.
    let _ = say("Ending.\n");
    cloud.shutdown().await;
    Ok(())
}

async fn console(arguments: Console) -> Result<(), Failure> {
    let mut interrupted = Interruption::new()?;
    let Console { api_url, token, port } = arguments;
    let token = token.filter(|token| !token.is_empty());
    let served = local::console::serve(&api_url, token, port).await?;
    say(&format!("The console of {api_url} is at {}. Ctrl-C ends it.\n", served.url()))?;
    interrupted.wait().await;
    Ok(())
}

async fn demo(model: Model) -> Result<(), Failure> {
    let mut interrupted = Interruption::new()?;
    let options = Options { model, ..Options::default() };
    let cloud = Cloud::start(options).await?;
    let done = tokio::select! {
        done = local::demo(&cloud) => done,
        () = interrupted.wait() => Ok(String::new()),
    };
    cloud.shutdown().await;
    Ok(say(&done?)?)
}

async fn write_sam_env(arguments: SamEnv) -> Result<(), Failure> {
    let SamEnv { host, template, built, folder, model } = arguments;
    let asked = sam_env::Asked { data: folder.data, host, template, built, model: model.tried().await? };
    let sam_env::Written { template, variables, env_file } = sam_env::write(&asked)?;
    let (template, variables) = (template.display(), variables.display());
    let told = format!(
        "sam local start-api --template {template} --env-vars {variables}
sam local invoke ExecuteFunction --event events/execute.json --template {template} --env-vars {variables}
cargo lambda watch --invoke-address 127.0.0.1 --invoke-port 9001 --ignore-changes --env-file {env_file}",
        env_file = env_file.display()
    );
    Ok(say(&format!("{told}\n"))?)
}

async fn smoke(arguments: Smoke) -> Result<ExitCode, Failure> {
    let Smoke { api_url, token, instruction } = arguments;
    let api_url = api_url.trim_end_matches('/').to_owned();
    let report = local::smoke::run(&Deployment { api_url, token, instruction }).await;
    say(&report.to_string())?;
    Ok(if report.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print_token(token: &Token) -> Result<(), Failure> {
    let tokens = local::data_folder::tokens(&token.folder.data)?;
    let identity = Identity { operator: token.operator, ..Identity::user(&token.org, &token.user) };
    say(&format!("{}\n", tokens.sign(&identity)?))?;
    Ok(())
}

/// Where everything is, and a line to paste.
fn welcome(cloud: &Cloud, data: &Data, model: &Model, oidc: Option<&Oidc>) -> Result<String, Failure> {
    let endpoints = cloud.endpoints();
    let kept = match data {
        Data::Folder(_) => "kept",
        Data::Ephemeral => "gone at the end",
    };
    let model_kind = match model {
        Model::Scripted(_) => " (scripted: set OPENAI_API_KEY, or name a --provider, for a real one)",
        Model::Provider { .. } => "",
    };
    let (token, caller) = match oidc {
        None => (cloud.token(&Identity::user("acme", "ada"))?, "as ada of acme".to_owned()),
        Some(Oidc { issuer, .. }) => ("TOKEN".to_owned(), format!("with a TOKEN of {issuer}")),
    };
    let id = || Uuid::new_v4().simple().to_string();
    Ok(format!(
        "The local cloud is up. Ctrl-C ends it.

  API       {api}
  Console   {api}/
  Docs      {api}/docs (the document: {api}/openapi.yaml)
  DynamoDB  {dynamodb}
  S3        {s3}
  SQS       {sqs}
  Qdrant    {qdrant}
  Model     {model}{model_kind}
  Data      {folder} ({kept})

Try a turn, {caller}:

curl -sS {api}{execute} -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' -d '{{\"SessionId\":\"{session}\",\"TurnId\":\"{turn}\",\"Instruction\":\"Hello! What are you?\"}}'
",
        api = endpoints.api,
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

/// Ctrl-C, or being asked to end.
struct Interruption {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    /// The terminal was closed.
    #[cfg(unix)]
    hangup: tokio::signal::unix::Signal,
}

impl Interruption {
    fn new() -> std::io::Result<Self> {
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

/// An error and what caused it, on one line.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        // What others say is told on one line; our own lists stay lists.
        let cause_text = cause.to_string().replace('\n', " ");
        // Some messages already hold their cause.
        if !line.contains(&cause_text) {
            line.push_str(": ");
            line.push_str(&cause_text);
        }
        source = cause.source();
    }
    line
}
