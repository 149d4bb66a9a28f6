//! A running local cloud: everything started, wired and, in the end, stopped.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use dynoxide::Database;
use scripted_model::Recorder;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::console::{self, Console, Issuer, Machine};
use crate::data_folder::{self, DataFolder};
use crate::docs;
use crate::endpoints::Endpoints;
use crate::event_source::{self, Mapping, Switch};
use crate::gateway::{self, Authorizer, Gateway};
use crate::http_server::serve;
use crate::lambda::{self, Function, Lambda, Launcher, Recording};
use crate::options::{Model, Options, Vectors};
use crate::services::provision::{self, BUCKET, Clients, DEAD_LETTERS, QUEUE, TABLE};
use crate::services::qdrant::{self, Embedded};
use crate::services::{dynamodb, here, listen, s3, sqs};
use crate::token::{self, Identity, Tokens};
use crate::{environment, open_files, running, sweep_timer};

/// How long a shutdown waits for the invocations under way.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(1);

/// Why a local cloud did not start, or could not do what it was asked. One line each.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API's port can't be had.
    #[error("cannot listen on 127.0.0.1:{port}: {source}; another port is chosen with --port")]
    Port {
        /// The port.
        port: u16,
        /// Why.
        source: std::io::Error,
    },
    /// A port of the services can't be had.
    #[error("cannot listen on {address}: {source}")]
    Service {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The data folder can't be had.
    #[error(transparent)]
    Data(#[from] data_folder::Error),
    /// A function process tried to start one. Without this a wrong executable, which starts a local
    /// cloud instead of being the function, would start itself again without end.
    #[error("a function process must not start a local cloud; is this the right executable?")]
    Nested,
    /// There is no executable to start as the functions.
    #[error("cannot find the executable of the functions, {0}")]
    Executable(String),
    /// A listener or a log can't be had.
    #[error("cannot start the local cloud: {0}")]
    Io(#[from] std::io::Error),
    /// The database can't be opened.
    #[error(transparent)]
    DynamoDb(#[from] dynamodb::Error),
    /// The object store can't be opened.
    #[error(transparent)]
    S3(#[from] s3::Error),
    /// The table, the bucket or a queue can't be made.
    #[error(transparent)]
    Provision(#[from] provision::Error),
    /// Two routes of the gateway have the same path.
    #[error("cannot start the gateway: {0}")]
    Routes(#[from] matchit::InsertError),
    /// A token can't be made.
    #[error(transparent)]
    Token(#[from] token::Error),
    /// The API's document can't be written.
    #[error(transparent)]
    Docs(#[from] contracts::openapi::Unwritable),
    /// There is no vector database.
    #[error(transparent)]
    Qdrant(#[from] qdrant::Error),
    /// A sweep can't be sent.
    #[error("cannot send a sweep: {0}")]
    Sweep(Box<dyn std::error::Error + Send + Sync>),
}

/// A running local cloud. Dropping it ends it; [`Cloud::shutdown`] also waits until it has ended.
pub struct Cloud {
    endpoints: Endpoints,
    clients: Clients,
    tokens: Tokens,
    lambda: Arc<Lambda>,
    finalizer: Switch,
    recorder: Option<Recorder>,
    vectors: Option<Arc<Embedded>>,
    /// Every server and timer; ends when dropped.
    _tasks: JoinSet<()>,
    folder: DataFolder,
}

impl Cloud {
    /// Starts everything and returns when the API answers.
    ///
    /// # Errors
    /// When something that is needed can't be had.
    pub async fn start(options: Options) -> Result<Self, Error> {
        if std::env::var_os(lambda::RUNTIME_API_VARIABLE).is_some() {
            return Err(Error::Nested);
        }
        open_files::allow_most();
        let executable = executable(options.executable.as_deref())?;
        let folder = DataFolder::open(&options.data)?;
        let tokens = folder.tokens()?;
        let port = options.port;
        let (api, api_url) = listen(here(port)).await.map_err(|source| Error::Port { port, source })?;
        let address = api.local_addr()?;

        let mut tasks = JoinSet::new();
        let database = dynamodb::open(folder.database().as_deref())?;
        let (qdrant, vectors) = start_vectors(&options, &folder, &executable, &mut tasks).await?;
        let (endpoints, recorder) =
            start_services(&options, &folder, (api_url, qdrant), database.clone(), &mut tasks).await?;
        let clients = Clients::new(&endpoints.dynamodb, &endpoints.s3, &endpoints.sqs);
        clients.provision(options.visibility_seconds()).await?;
        tasks.spawn(dynamodb::expire(database));
        running::announce(folder.root(), &endpoints)?;
        running::announce_providers(folder.root(), options.environment.get("MODEL_PROVIDERS"))?;

        let (runtime_api, runtime_api_url) = listen(here(0)).await?;
        let launcher = Arc::new(Launcher {
            executable,
            runtime_api: runtime_api_url,
            timeout: options.timeout,
            environment: environment::of_functions(&options, &endpoints),
            vectors: vectors.clone(),
        });
        let recording = options.events.clone().map(Recording::new).transpose()?;
        let lambda = Lambda::new(&launcher, options.concurrency, &folder.logs(), options.logs, recording)?;
        let lambda = Arc::new(lambda);
        tasks.spawn(serve(runtime_api, lambda::router(Arc::clone(&lambda))));
        tasks.spawn(Arc::clone(&lambda).reap());

        let (finalizer, event_source) = event_source::start(Mapping {
            sqs: clients.sqs.clone(),
            queue_url: endpoints.finalize_queue.clone(),
            queue_arn: provision::queue_arn(QUEUE),
            lambda: Arc::clone(&lambda),
            cap: options.concurrency,
        });
        tasks.spawn(event_source);
        if let Some(period) = options.sweep {
            let (sqs, queue) = (clients.sqs.clone(), endpoints.finalize_queue.clone());
            tasks.spawn(sweep_timer::run(sqs, queue, period));
        }
        let authorizer =
            options.oidc.as_ref().map_or(Authorizer::Cognito(tokens.clone()), |_| Authorizer::Oidc);
        let gateway = Gateway::new(Arc::clone(&lambda), authorizer, address)?;
        let console = console::router(Console {
            api: None,
            issuer: options.oidc.as_ref().map_or(Issuer::Local(tokens.clone()), |_| Issuer::Typed),
            payloads: endpoints.s3.clone(),
            machine: Some(Machine {
                lambda: Arc::clone(&lambda),
                sqs: clients.sqs.clone(),
                endpoints: endpoints.clone(),
                data: folder.root().to_owned(),
                logs: folder.logs(),
                is_scripted: matches!(options.model, Model::Scripted(_)),
            }),
        });
        tasks.spawn(serve(api, docs::router()?.merge(console).merge(gateway::router(gateway))));
        Ok(Self { endpoints, clients, tokens, lambda, finalizer, recorder, vectors, _tasks: tasks, folder })
    }

    /// The API's URL, without a slash at its end.
    pub fn url(&self) -> &str {
        &self.endpoints.api
    }

    /// Where everything is.
    pub fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// The folder that holds the state: a temporary one when it is ephemeral.
    pub fn data_folder(&self) -> &Path {
        self.folder.root()
    }

    /// Where a function's log is.
    pub fn log_file(&self, function: Function) -> PathBuf {
        lambda::log_path(&self.folder.logs(), function)
    }

    /// What signs and checks tokens.
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// A token that the API accepts.
    ///
    /// # Errors
    /// When signing fails.
    pub fn token(&self, identity: &Identity) -> Result<String, Error> {
        Ok(self.tokens.sign(identity)?)
    }

    /// A client of the database.
    pub fn dynamodb(&self) -> &aws_sdk_dynamodb::Client {
        &self.clients.dynamodb
    }

    /// A client of the object store.
    pub fn s3(&self) -> &aws_sdk_s3::Client {
        &self.clients.s3
    }

    /// A client of the queues.
    pub fn sqs(&self) -> &aws_sdk_sqs::Client {
        &self.clients.sqs
    }

    /// The table's name.
    pub fn table(&self) -> &'static str {
        TABLE
    }

    /// The bucket's name.
    pub fn bucket(&self) -> &'static str {
        BUCKET
    }

    /// What the scripted model was asked; nothing when another provider answers.
    pub fn model(&self) -> Option<&Recorder> {
        self.recorder.as_ref()
    }

    /// The URL of the vector database, once it is ready. The embedded engine is built first if it has to be, which
    /// takes minutes.
    ///
    /// # Errors
    /// When it can't be built or does not start.
    pub async fn qdrant(&self) -> Result<&str, Error> {
        if let Some(vectors) = &self.vectors {
            vectors.ready().await?;
        }
        Ok(&self.endpoints.qdrant)
    }

    /// Stops the event source: messages stay in the queue. Returns when no batch is under way.
    pub async fn pause_finalizer(&self) {
        self.finalizer.disable().await;
    }

    /// Starts the event source again.
    pub async fn resume_finalizer(&self) {
        self.finalizer.enable().await;
    }

    /// Sends one sweep now, whatever the schedule is.
    ///
    /// # Errors
    /// When the queue does not take it.
    pub async fn sweep(&self) -> Result<(), Error> {
        let sent = sweep_timer::send(&self.clients.sqs, &self.endpoints.finalize_queue).await;
        sent.map_err(Error::Sweep)
    }

    /// Kills every process of a function, as a crash would.
    pub fn crash(&self, function: Function) {
        self.lambda.crash(function);
    }

    /// How many processes a function has right now.
    pub fn processes(&self, function: Function) -> usize {
        self.lambda.processes(function)
    }

    /// Ends everything and waits until every function process is gone.
    pub async fn shutdown(self) {
        self.lambda.shutdown(SHUTDOWN_PATIENCE).await;
        if let Some(vectors) = &self.vectors {
            vectors.end().await;
        }
    }
}

impl Drop for Cloud {
    fn drop(&mut self) {
        self.lambda.close();
    }
}

/// Starts the services and the scripted model, and says where everything is.
async fn start_services(
    options: &Options,
    folder: &DataFolder,
    (api, qdrant): (String, String),
    database: Database,
    tasks: &mut JoinSet<()>,
) -> Result<(Endpoints, Option<Recorder>), Error> {
    let (listener, dynamodb) = service(options, 0).await?;
    tasks.spawn(dynoxide::server::serve_on(listener, database));
    let (listener, s3) = service(options, 1).await?;
    tasks.spawn(serve(listener, s3::router(&folder.objects(), Function::ALL.map(Function::access_key))?));
    let (listener, sqs) = service(options, 2).await?;
    tasks.spawn(serve(listener, sqs::router()));
    let (model, recorder) = match &options.model {
        Model::Provider { base_url, .. } => (base_url.clone(), None),
        Model::Scripted(provider) => {
            let recorder = Recorder::default();
            let (listener, url) = service(options, 3).await?;
            tasks.spawn(serve(listener, scripted_model::router(*provider, recorder.clone())));
            (format!("{url}/v1"), Some(recorder))
        }
    };
    let endpoints = Endpoints {
        api,
        dynamodb,
        s3,
        finalize_queue: provision::queue_url(&sqs, QUEUE),
        dead_letter_queue: provision::queue_url(&sqs, DEAD_LETTERS),
        sqs,
        model,
        qdrant,
    };
    Ok((endpoints, recorder))
}

/// A listener of one of the services.
async fn service(options: &Options, place: u16) -> Result<(TcpListener, String), Error> {
    let address = options.service(place);
    listen(address).await.map_err(|source| Error::Service { address, source })
}

/// The vector database: its URL, and the engine where it is embedded.
async fn start_vectors(
    options: &Options,
    folder: &DataFolder,
    executable: &Path,
    tasks: &mut JoinSet<()>,
) -> Result<(String, Option<Arc<Embedded>>), Error> {
    match &options.vectors {
        Vectors::Server { url, .. } => Ok((url.clone(), None)),
        Vectors::Embedded => {
            let (listener, url) = service(options, 4).await?;
            let embedded = Arc::new(Embedded::new(folder.vectors(), executable, url.clone()));
            tasks.spawn(Arc::clone(&embedded).relay(listener));
            Ok((url, Some(embedded)))
        }
    }
}

/// The executable of the functions: this one, where no other is chosen.
pub(crate) fn executable(chosen: Option<&Path>) -> Result<PathBuf, Error> {
    let path = match chosen {
        Some(path) => path.to_owned(),
        None => std::env::current_exe()?,
    };
    if path.is_file() { Ok(path) } else { Err(Error::Executable(path.display().to_string())) }
}
