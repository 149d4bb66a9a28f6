//! The `local` command: serves the local cloud, prints tokens, runs the demo, and is every function.

#![allow(clippy::print_stdout, clippy::print_stderr)] // A command talks to its terminal.

mod cli;
mod sources_cli;
mod vector_args;

use std::process::ExitCode;

use clap::Parser;
use local::smoke::Deployment;
use local::sources::{self, Place};
use local::token::Identity;
use local::{Cloud, Data, Model, Oidc, Options, sam_env};
use uuid::Uuid;

use cli::{Cli, Command, Contexts, Evaluate, Index, Reconcile, SamEnv, Search, Serve, Smoke, Token};

/// Whatever ends the command early. It is one line.
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::from)
        .and_then(|runtime| runtime.block_on(run(cli)));
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {}", with_sources(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

async fn run(cli: Cli) -> Result<ExitCode, Failure> {
    match cli.command {
        None => serve(cli.serve).await?,
        Some(Command::Function { name }) => return Ok(local::run_function(name.into()).await),
        Some(Command::Token(token)) => print_token(&token)?,
        Some(Command::Demo(model)) => demo(model.model()).await?,
        Some(Command::Contexts { command: Contexts::Put { file, org, folder } }) => {
            println!("{}", local::contexts::put(&folder.data, &org, &file).await?);
        }
        Some(Command::Reconcile(arguments)) => reconcile(&arguments).await?,
        Some(Command::Index(arguments)) => index(arguments).await?,
        Some(Command::Search(arguments)) => search(arguments).await?,
        Some(Command::Evaluate(arguments)) => evaluate(arguments).await?,
        Some(Command::Settings) => print!("{}", settings::page()),
        Some(Command::SamEnv(arguments)) => write_sam_env(arguments)?,
        Some(Command::Smoke(arguments)) => return smoke(arguments).await,
        Some(Command::Openapi) => print!("{}", local::docs::openapi()?),
    }
    Ok(ExitCode::SUCCESS)
}

async fn reconcile(arguments: &Reconcile) -> Result<(), Failure> {
    let Reconcile { remove, older_than, folder } = arguments;
    let tell = |key: &str| println!("{key}");
    let at_least = std::time::Duration::from_secs(*older_than);
    let found = local::reconcile::reconcile(&folder.data, at_least, *remove, tell).await?;
    let done = if *remove { "were removed" } else { "can be removed with --remove" };
    println!(
        "{} of {} objects, {} bytes, {done}; {} are younger than {older_than} s, {} are none of ours.",
        found.unneeded, found.objects, found.bytes, found.young, found.foreign
    );
    Ok(())
}

async fn index(arguments: Index) -> Result<(), Failure> {
    let mut interrupted = Interruption::new()?;
    let (asked, named) = arguments.asked();
    let place = Place::open(named).await?;
    let done = tokio::select! {
        done = sources::index(&place, &asked) => done.map(|told| println!("{told}")),
        () = interrupted.wait() => Ok(()),
    };
    place.close().await;
    Ok(done?)
}

async fn search(arguments: Search) -> Result<(), Failure> {
    let (asked, named) = arguments.asked();
    let place = Place::open(named).await?;
    let found = sources::search(&place, &asked).await;
    place.close().await;
    print!("{}", found?);
    Ok(())
}

async fn evaluate(arguments: Evaluate) -> Result<(), Failure> {
    let at_least = arguments.at_least;
    let (asked, named) = arguments.asked();
    let place = Place::open(named).await?;
    let evaluated = sources::evaluate(&place, &asked).await;
    place.close().await;
    let (rate, told) = evaluated?;
    print!("{told}");
    match at_least {
        Some(least) if rate.percent() < least => Err(format!("fewer than {least} % were found").into()),
        _ => Ok(()),
    }
}

async fn serve(arguments: Serve) -> Result<(), Failure> {
    // Asked for first, so that a signal during the start is not lost.
    let mut interrupted = Interruption::new()?;
    let options = arguments.options();
    let (data, model, oidc) = (options.data.clone(), options.model.clone(), options.oidc.clone());
    let cloud = Cloud::start(options).await?;
    println!("{}", welcome(&cloud, &data, &model, oidc.as_ref())?);
    interrupted.wait().await;
    println!("Ending.");
    cloud.shutdown().await;
    Ok(())
}

async fn demo(model: Model) -> Result<(), Failure> {
    let mut interrupted = Interruption::new()?;
    let options = Options { model, ..Options::default() };
    let cloud = Cloud::start(options).await?;
    let done = tokio::select! {
        done = local::demo(&cloud) => done.map(|told| print!("{told}")),
        () = interrupted.wait() => Ok(()),
    };
    cloud.shutdown().await;
    Ok(done?)
}

fn write_sam_env(arguments: SamEnv) -> Result<(), Failure> {
    let SamEnv { host, template, built, folder, model } = arguments;
    let asked = sam_env::Asked { data: folder.data, host, template, built, model: model.model() };
    let sam_env::Written { template, variables, env_file } = sam_env::write(&asked)?;
    let (template, variables) = (template.display(), variables.display());
    println!(
        "sam local start-api --template {template} --env-vars {variables}
sam local invoke ExecuteFunction --event events/execute.json --template {template} --env-vars {variables}
cargo lambda watch --invoke-address 127.0.0.1 --invoke-port 9001 --ignore-changes --env-file {env_file}",
        env_file = env_file.display()
    );
    Ok(())
}

async fn smoke(arguments: Smoke) -> Result<ExitCode, Failure> {
    let Smoke { api_url, token, instruction } = arguments;
    let api_url = api_url.trim_end_matches('/').to_owned();
    let report = local::smoke::run(&Deployment { api_url, token, instruction }).await;
    print!("{report}");
    Ok(if report.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print_token(token: &Token) -> Result<(), Failure> {
    let tokens = local::data_folder::tokens(&token.folder.data)?;
    let identity = Identity { operator: token.operator, ..Identity::user(&token.org, &token.user) };
    println!("{}", tokens.sign(&identity)?);
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
        Model::Scripted(_) => " (scripted: set OPENAI_BASE_URL and OPENAI_API_KEY for a real one)",
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
}

impl Interruption {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            terminate: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?,
            #[cfg(unix)]
            interrupt: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())?,
        })
    }

    async fn wait(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
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
