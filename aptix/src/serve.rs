//! `aptix up`, the default command, and `aptix demo`: run a local cloud.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use local::{Cloud, Data, Logs, Model, ModelSetup, Oidc, Options, Vectors};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::failure::{Failure, INTERRUPTED};
use crate::folder_args::FolderArgs;
use crate::model_args::{ModelArgs, check_saved, choices};
use crate::output::print;
use crate::shutdown_signals::ShutdownSignals;
use crate::vector_args::VectorArgs;

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Port of the API on 127.0.0.1; 0 picks a free one
    #[arg(long, default_value_t = 9000)]
    port: u16,
    /// Address on which the services listen; containers need an address that they can reach
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    services_host: IpAddr,
    /// Port of DynamoDB; S3, SQS, the model, Qdrant and Secrets Manager take the next ports, and 0 picks free ports
    #[arg(long, value_name = "PORT", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=65_531))]
    services_port: u16,
    #[command(flatten)]
    folder: FolderArgs,
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
    /// Program to start as the functions, instead of this program; the benchmark starts its floor with this option
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

impl Serve {
    /// Converts the arguments to options, after a preflight check of the model provider.
    async fn options(self) -> Result<Options, Failure> {
        let data = if self.ephemeral { Data::Ephemeral } else { Data::Folder(self.folder.folder()) };
        let model = match &data {
            Data::Folder(folder) => self.model.resolve_in(folder).await?,
            Data::Ephemeral => self.model.resolve().await?,
        };
        Ok(Options {
            port: self.port,
            services_host: self.services_host,
            services_port: self.services_port,
            data,
            executable: self.function_program,
            concurrency: usize::from(self.concurrency),
            concurrency_per_process: usize::from(self.concurrency_per_process),
            lease: self.lease_seconds.map(Duration::from_secs),
            sweep: Some(Duration::from_secs(self.sweep_seconds)),
            model,
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
            raw_payloads: true,
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
    let providers = local::json_file::without_byte_order_mark(providers);
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

pub(crate) async fn serve(arguments: Serve) -> Result<(), Failure> {
    // Registered first, so that a signal during the start is not lost.
    let mut signals = ShutdownSignals::listen()?;
    // The console sets the model of a folder, unless an option would hide the choice at the next start.
    let can_set_model = !arguments.ephemeral && !arguments.model.is_set();
    let mut options = arguments.options().await?;
    let (changes, mut changed) = mpsc::channel(1);
    options.model_setup = can_set_model.then(|| ModelSetup {
        providers: choices(),
        check: Arc::new(|saved| Box::pin(check_saved(saved))),
        changes: changes.clone(),
    });
    let mut cloud = start(options.clone()).await?;
    let _registration = local::registry::register(cloud.data_folder());
    print(&format!("{}\n", banner(&cloud, &options.data, &options.model, options.oidc.as_ref())?))?;
    // Pages stay on their address.
    options.port = cloud.port();
    loop {
        let model = tokio::select! {
            () = signals.wait() => break,
            // The sender above is never dropped.
            Some(model) = changed.recv() => model,
        };
        cloud.shutdown().await;
        options.model = model;
        cloud = start(options.clone()).await?;
        print(&format!("The console has set the model: {}\n", cloud.endpoints().model))?;
    }
    // The reader of the output may be gone.
    let _ = print("Shutting down.\n");
    cloud.shutdown().await;
    Ok(())
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
    // The shell gets the token when the line runs, so that it isn't a part of the output.
    let (token, caller) = match oidc {
        None => {
            let folder = cloud.data_folder().canonicalize()?;
            let command =
                [program().as_str(), "token --org acme --user ada --data", &quoted(&folder)].join(" ");
            (format!("$({command})"), "as ada of acme".to_owned())
        }
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

curl -sS {api}{execute} -H \"Authorization: Bearer {token}\" -H 'Content-Type: application/json' -d '{{\"SessionId\":\"{session}\",\"TurnId\":\"{turn}\",\"Instruction\":\"Hello! What are you?\"}}'
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

/// Returns the command that starts this program: its name if the shell finds it, or else its path.
fn program() -> String {
    let name = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let is_name = name.components().count() == 1;
    let path = std::env::current_exe().ok().filter(|_| !is_name).unwrap_or(name);
    quoted(&path)
}

/// Quotes a path for a shell, if it needs quotes.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = text.chars().all(|char| char.is_alphanumeric() || "/._-".contains(char));
    if is_plain { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

pub(crate) async fn demo(model: Model) -> Result<ExitCode, Failure> {
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
