//! A running local cloud: starts, wires and stops every part.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use dynoxide::Database;
use mock_model::Recorder;
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
use crate::services::qdrant::{self, EmbeddedQdrant};
use crate::services::{dynamodb, listen, loopback, s3, sqs};
use crate::token::{self, Identity, Tokens};
use crate::{discovery, environment, file_descriptor_limit, sweep_timer};

/// Time that a shutdown waits for running invocations.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// A failure of the local cloud. One line each.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API's port is not available.
    #[error("Can't listen on 127.0.0.1:{port}: {source}. Choose another port with --port.")]
    Port {
        /// The port.
        port: u16,
        /// The cause.
        source: std::io::Error,
    },
    /// A port of the services is not available.
    #[error("Can't listen on {address}: {source}")]
    Service {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: std::io::Error,
    },
    /// The data folder can't be used.
    #[error(transparent)]
    Data(#[from] data_folder::Error),
    /// A function process tried to start a local cloud. Without this check, a wrong executable that starts a local
    /// cloud instead of serving the function would start itself again without end.
    #[error("A function process must not start a local cloud. Is this the right executable?")]
    Nested,
    /// The functions' executable does not exist.
    #[error("Can't find the functions' executable {0}")]
    Executable(String),
    /// A listener or a log file can't be opened.
    #[error("Can't start the local cloud: {0}")]
    Io(#[from] std::io::Error),
    /// The database can't be opened.
    #[error(transparent)]
    DynamoDb(#[from] dynamodb::Error),
    /// The object store can't be opened.
    #[error(transparent)]
    S3(#[from] s3::Error),
    /// The table, the bucket or a queue can't be created.
    #[error(transparent)]
    Provision(#[from] provision::Error),
    /// Two routes of the gateway have the same path.
    #[error("Can't start the gateway: {0}")]
    Routes(#[from] matchit::InsertError),
    /// A token can't be signed.
    #[error(transparent)]
    Token(#[from] token::Error),
    /// The OpenAPI document can't be generated.
    #[error(transparent)]
    Docs(#[from] openapi::SerializeError),
    /// The vector database can't be built or started.
    #[error(transparent)]
    Qdrant(#[from] qdrant::Error),
    /// A sweep can't be sent.
    #[error("Can't send a sweep: {0}")]
    Sweep(Box<dyn std::error::Error + Send + Sync>),
}

/// A running local cloud. Dropping it stops it; [`Cloud::shutdown`] also waits until it has stopped.
pub struct Cloud {
    endpoints: Endpoints,
    clients: Clients,
    tokens: Tokens,
    lambda: Arc<Lambda>,
    finalizer: Switch,
    recorder: Option<Recorder>,
    vectors: Option<Arc<EmbeddedQdrant>>,
    /// Every server and timer; stopped when dropped.
    _tasks: JoinSet<()>,
    folder: DataFolder,
}

impl Cloud {
    /// Starts everything and returns once the API responds.
    ///
    /// # Errors
    /// Fails if a port, the data folder, the executable or a service is not available.
    pub async fn start(options: Options) -> Result<Self, Error> {
        if std::env::var_os(lambda::RUNTIME_API_VARIABLE).is_some() {
            return Err(Error::Nested);
        }
        file_descriptor_limit::raise();
        let executable = executable(options.executable.as_deref())?;
        let folder = DataFolder::open(&options.data)?;
        let tokens = folder.tokens()?;
        let port = options.port;
        let (api, api_url) = listen(loopback(port)).await.map_err(|source| Error::Port { port, source })?;
        let address = api.local_addr()?;

        let mut tasks = JoinSet::new();
        let database = dynamodb::open(folder.database().as_deref())?;
        let (qdrant, vectors) = start_vectors(&options, &folder, &executable, &mut tasks).await?;
        let (endpoints, recorder) =
            start_services(&options, &folder, (api_url, qdrant), database.clone(), &mut tasks).await?;
        let clients = Clients::new(&endpoints.dynamodb, &endpoints.s3, &endpoints.sqs);
        clients.provision(options.visibility_seconds()).await?;
        tasks.spawn(dynamodb::expire(database));
        discovery::write_endpoints(folder.root(), &endpoints)?;
        discovery::write_providers(folder.root(), options.environment.get("MODEL_PROVIDERS"))?;

        let (runtime_api, runtime_api_url) = listen(loopback(0)).await?;
        let launcher = Arc::new(Launcher {
            executable,
            runtime_api: runtime_api_url,
            timeout: options.timeout,
            environment: environment::for_functions(&options, &endpoints),
            vectors: vectors.clone(),
        });
        let recording = options.event_folder.clone().map(Recording::new).transpose()?;
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
                is_mock: matches!(options.model, Model::Mock(_)),
            }),
        });
        tasks.spawn(serve(api, docs::router()?.merge(console).merge(gateway::router(gateway))));
        Ok(Self { endpoints, clients, tokens, lambda, finalizer, recorder, vectors, _tasks: tasks, folder })
    }

    /// Returns the API's URL, without a trailing slash.
    pub fn url(&self) -> &str {
        &self.endpoints.api
    }

    /// Returns the URLs of every service.
    pub fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// Returns the data folder: a temporary one if the cloud is ephemeral.
    pub fn data_folder(&self) -> &Path {
        self.folder.root()
    }

    /// Returns the path of a function's log.
    pub fn log_file(&self, function: Function) -> PathBuf {
        lambda::log_path(&self.folder.logs(), function)
    }

    /// Returns the signer and verifier of tokens.
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Returns a token that the API accepts.
    ///
    /// # Errors
    /// Fails if signing fails.
    pub fn token(&self, identity: &Identity) -> Result<String, Error> {
        Ok(self.tokens.sign(identity)?)
    }

    /// Returns a client of the database.
    pub fn dynamodb(&self) -> &aws_sdk_dynamodb::Client {
        &self.clients.dynamodb
    }

    /// Returns a client of the object store.
    pub fn s3(&self) -> &aws_sdk_s3::Client {
        &self.clients.s3
    }

    /// Returns a client of the queues.
    pub fn sqs(&self) -> &aws_sdk_sqs::Client {
        &self.clients.sqs
    }

    /// Returns the table's name.
    pub fn table(&self) -> &'static str {
        TABLE
    }

    /// Returns the bucket's name.
    pub fn bucket(&self) -> &'static str {
        BUCKET
    }

    /// Returns the requests that the mock model received, or none if another provider is used.
    pub fn model(&self) -> Option<&Recorder> {
        self.recorder.as_ref()
    }

    /// Returns the URL of the vector database once it is ready. The embedded engine is built first if necessary,
    /// which takes minutes.
    ///
    /// # Errors
    /// Fails if the engine can't be built or does not start.
    pub async fn qdrant(&self) -> Result<&str, Error> {
        if let Some(vectors) = &self.vectors {
            vectors.ensure_ready().await?;
        }
        Ok(&self.endpoints.qdrant)
    }

    /// Stops the event source; messages stay in the queue. Returns once no batch is being delivered.
    pub async fn pause_finalizer(&self) {
        self.finalizer.disable().await;
    }

    /// Restarts the event source.
    pub async fn resume_finalizer(&self) {
        self.finalizer.enable().await;
    }

    /// Sends one sweep now, regardless of the schedule.
    ///
    /// # Errors
    /// Fails if the queue rejects it.
    pub async fn sweep(&self) -> Result<(), Error> {
        let result = sweep_timer::send(&self.clients.sqs, &self.endpoints.finalize_queue).await;
        result.map_err(Error::Sweep)
    }

    /// Kills every process of a function, as a crash would.
    pub fn crash(&self, function: Function) {
        self.lambda.crash(function);
    }

    /// Returns the current number of processes of a function.
    pub fn processes(&self, function: Function) -> usize {
        self.lambda.processes(function)
    }

    /// Stops everything and waits until every function process has exited.
    pub async fn shutdown(self) {
        self.lambda.shutdown(SHUTDOWN_TIMEOUT).await;
        if let Some(vectors) = &self.vectors {
            vectors.shutdown().await;
        }
    }
}

impl Drop for Cloud {
    fn drop(&mut self) {
        self.lambda.close();
    }
}

/// Starts the services and the mock model, and returns their URLs.
async fn start_services(
    options: &Options,
    folder: &DataFolder,
    (api, qdrant): (String, String),
    database: Database,
    tasks: &mut JoinSet<()>,
) -> Result<(Endpoints, Option<Recorder>), Error> {
    let (listener, dynamodb) = listen_service(options, 0).await?;
    tasks.spawn(dynoxide::server::serve_on(listener, database));
    let (listener, s3) = listen_service(options, 1).await?;
    tasks.spawn(serve(listener, s3::router(&folder.objects(), Function::ALL.map(Function::access_key))?));
    let (listener, sqs) = listen_service(options, 2).await?;
    tasks.spawn(serve(listener, sqs::router()));
    let (model, recorder) = match &options.model {
        Model::Provider { base_url, .. } => (base_url.clone(), None),
        Model::Mock(provider) => {
            let recorder = Recorder::default();
            let (listener, url) = listen_service(options, 3).await?;
            tasks.spawn(serve(listener, mock_model::router(*provider, recorder.clone())));
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

/// Opens the listener of a service.
async fn listen_service(options: &Options, offset: u16) -> Result<(TcpListener, String), Error> {
    let address = options.service_address(offset);
    listen(address).await.map_err(|source| Error::Service { address, source })
}

/// Starts the vector database. Returns its URL, and the engine if it is embedded.
async fn start_vectors(
    options: &Options,
    folder: &DataFolder,
    executable: &Path,
    tasks: &mut JoinSet<()>,
) -> Result<(String, Option<Arc<EmbeddedQdrant>>), Error> {
    match &options.vectors {
        Vectors::Server { url, .. } => Ok((url.clone(), None)),
        Vectors::Embedded => {
            let (listener, url) = listen_service(options, 4).await?;
            let embedded = Arc::new(EmbeddedQdrant::new(folder.vectors(), executable, url.clone()));
            tasks.spawn(Arc::clone(&embedded).relay(listener));
            Ok((url, Some(embedded)))
        }
    }
}

/// Returns the functions' executable: the configured one, or the running one.
pub(crate) fn executable(configured: Option<&Path>) -> Result<PathBuf, Error> {
    let path = match configured {
        Some(path) => path.to_owned(),
        None => std::env::current_exe()?,
    };
    if path.is_file() { Ok(path) } else { Err(Error::Executable(path.display().to_string())) }
}
