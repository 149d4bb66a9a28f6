//! A running local cloud: starts, wires and stops every part.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mock_model::Recorder;
use tokio::task::JoinSet;

use crate::account::REGION;
use crate::aws_credentials::CredentialsServer;
use crate::console::{self, Console, Issuer, Machine};
use crate::data_folder::DataFolder;
use crate::disk_space::DiskSpace;
use crate::docs;
use crate::endpoints::{Endpoints, port_of};
use crate::error::Error;
use crate::event_source::{self, Mapping, Switch};
use crate::function::Function;
use crate::gateway::{self, Authorizer, Gateway};
use crate::lambda::{self, Lambda, Launcher, Recording};
use crate::listener::{Listener, Server};
use crate::options::{Model, Options};
use crate::service_keys::ServiceKeys;
use crate::services::Services;
use crate::services::provision::{
    self, BUCKET, Clients, KNOWLEDGE_QUEUE, QUEUE, TABLE, TURN_QUEUE, WEBHOOK_QUEUE,
};
use crate::token::{Identity, Tokens};
use crate::{aws_credentials, discovery, environment, file_descriptor_limit, secret, sweep_timer};

/// Time that a shutdown waits for running invocations.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Documents that are indexed at a time, since each may take a processor and much memory.
const MAX_INDEXERS: usize = 2;

/// A running local cloud. Dropping it stops it; [`Cloud::shutdown`] also waits until it has stopped.
pub struct Cloud {
    endpoints: Endpoints,
    port: u16,
    clients: Clients,
    tokens: Tokens,
    keys: ServiceKeys,
    console_key: String,
    lambda: Arc<Lambda>,
    finalizer: Switch,
    _webhooks: Switch,
    turns: Switch,
    indexer: Switch,
    services: Services,
    /// The API and the Runtime API; stopped when dropped.
    servers: [Server; 2],
    /// The server of the developer's AWS credentials, if a provider needs them.
    _credentials: Option<CredentialsServer>,
    /// Every timer; stopped when dropped.
    _tasks: JoinSet<()>,
    folder: DataFolder,
}

impl Cloud {
    /// Starts everything and returns once the API responds.
    ///
    /// # Errors
    /// Fails if a port, the data folder, the executable or a service is not available.
    pub async fn start(options: Options) -> Result<Self, Error> {
        refuse_nesting()?;
        file_descriptor_limit::raise();
        let executable = executable(options.executable.as_deref())?;
        let folder = DataFolder::open(&options.data)?;
        let (tokens, keys, console_key) = (folder.tokens()?, folder.service_keys()?, folder.console_key()?);
        let api = listen(options.port).await?;
        let port = api.address().port();
        let mut services = Services::start(&options, &folder, &keys, &executable).await?;
        let endpoints = services.endpoints(api.url());
        let clients = provision(&options, &endpoints, &keys).await?;
        // The table has its TTL now.
        services.dynamodb.start_expiry();
        discovery::write_endpoints(folder.root(), &endpoints)?;
        discovery::write_providers(folder.root(), environment::model_providers(&options).as_ref())?;
        let credentials = start_credentials(&options).await?;

        let parts = Parts {
            options: &options,
            endpoints: &endpoints,
            clients: &clients,
            keys: &keys,
            credentials: credentials.as_ref(),
            folder: &folder,
        };
        let mut tasks = JoinSet::new();
        let (lambda, launcher, runtime_api) = parts.start_lambda(executable, &services, &mut tasks).await?;
        let finalizer = parts.start_event_source(&lambda, &mut tasks);
        let webhooks = parts.start_webhooks(&lambda, &mut tasks);
        let turns = parts.start_turns(&lambda, &mut tasks);
        let indexer = parts.start_indexer(&lambda, launcher, &mut tasks);
        parts.start_sweep_timer(&mut tasks);
        let api = parts.start_api(api, &lambda, &tokens, &console_key)?;
        let servers = [api, runtime_api];
        Ok(Self {
            endpoints,
            port,
            clients,
            tokens,
            keys,
            console_key,
            lambda,
            finalizer,
            _webhooks: webhooks,
            turns,
            indexer,
            services,
            servers,
            _credentials: credentials,
            _tasks: tasks,
            folder,
        })
    }

    /// Returns the API's URL, without a trailing slash.
    pub fn url(&self) -> &str {
        &self.endpoints.api
    }

    /// Returns the API's port.
    pub fn port(&self) -> u16 {
        self.port
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

    /// Returns the keys of the AWS services.
    pub fn service_keys(&self) -> &ServiceKeys {
        &self.keys
    }

    /// Returns the URL that opens the console in a browser. It holds the console's key.
    pub fn console_url(&self) -> String {
        console::page_url(self.url(), &self.console_key)
    }

    /// Returns the key that the console's own pages send.
    pub fn console_key(&self) -> &str {
        &self.console_key
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

    /// Returns the requests that the mock model received, or `None` if another provider is used.
    pub fn model(&self) -> Option<&Recorder> {
        self.services.model.recorder()
    }

    /// Returns the URL of the vector database once it is ready. In a checkout, the embedded engine is built first if
    /// necessary, which takes minutes.
    ///
    /// # Errors
    /// Fails if the engine is not installed, can't be built or does not start.
    pub async fn qdrant(&self) -> Result<&str, Error> {
        if let Some(engine) = self.services.qdrant.embedded() {
            engine.ensure_ready().await?;
        }
        Ok(&self.endpoints.qdrant)
    }

    /// Starts a process of each function that an API call or a message needs, and waits until they are ready. Otherwise
    /// a setting that a function refuses shows as a failure of every request.
    ///
    /// # Errors
    /// Fails if a function does not start, with the reasons from its log.
    pub async fn check_functions(&self) -> Result<(), Error> {
        // The authorizer asks its provider first, which may be down for now.
        const CHECKED: [Function; 4] =
            [Function::Execute, Function::ToolContinuation, Function::SessionRead, Function::TurnFinalizer];
        Ok(self.lambda.check_inits(&CHECKED).await?)
    }

    /// Stops the event source; messages stay in the queue. Returns once no batch is being delivered.
    pub async fn pause_finalizer(&self) {
        self.finalizer.disable().await;
    }

    /// Restarts the event source.
    pub async fn resume_finalizer(&self) {
        self.finalizer.enable().await;
    }

    /// Stops the event source of `execute`. Returns once no turn of its messages runs.
    pub async fn pause_turns(&self) {
        self.turns.disable().await;
    }

    /// Restarts the event source of `execute`.
    pub async fn resume_turns(&self) {
        self.turns.enable().await;
    }

    /// Stops the event source of `knowledge-indexer`. Returns once no message is being delivered.
    pub async fn pause_indexer(&self) {
        self.indexer.disable().await;
    }

    /// Restarts the event source of `knowledge-indexer`.
    pub async fn resume_indexer(&self) {
        self.indexer.enable().await;
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

    /// Returns the time at which a process of a function last received an invocation, for benchmarks. A process that has
    /// exited does not count.
    pub fn last_delivery(&self, function: Function) -> Option<Instant> {
        self.lambda.last_delivery(function)
    }

    /// Stops everything and waits until every function process has exited and the API's port is free.
    pub async fn shutdown(mut self) {
        self.lambda.shutdown(SHUTDOWN_TIMEOUT).await;
        if let Some(engine) = self.services.qdrant.embedded() {
            engine.shutdown().await;
        }
        for server in &mut self.servers {
            server.stop().await;
        }
    }
}

impl Drop for Cloud {
    fn drop(&mut self) {
        self.lambda.close();
    }
}

/// The parts of a starting cloud that the functions and their triggers are wired to.
#[derive(Clone, Copy)]
struct Parts<'a> {
    options: &'a Options,
    endpoints: &'a Endpoints,
    clients: &'a Clients,
    keys: &'a ServiceKeys,
    credentials: Option<&'a CredentialsServer>,
    folder: &'a DataFolder,
}

impl Parts<'_> {
    /// Starts the Lambda service and its Runtime API.
    async fn start_lambda(
        self,
        executable: PathBuf,
        services: &Services,
        tasks: &mut JoinSet<()>,
    ) -> Result<(Arc<Lambda>, Arc<Launcher>, Server), Error> {
        let options = self.options;
        let runtime_api = Listener::bind_loopback(0).await?;
        let mut environment = environment::for_functions(options, self.endpoints, self.keys);
        if let Some(credentials) = self.credentials {
            let setting = settings::PROVIDER_CREDENTIALS_URL.name.to_owned();
            environment.insert(setting, credentials.url().to_owned());
            let own_ports = environment.entry(settings::CONNECTION_OWN_PORTS.name.to_owned()).or_default();
            own_ports.extend(port_of(credentials.url()).map(|port| format!(",{port}")));
        }
        let launcher = Arc::new(Launcher {
            executable,
            runtime_api: runtime_api.url(),
            concurrency_per_process: options.concurrency_per_process,
            timeout: options.timeout,
            environment,
            vectors: services.qdrant.embedded().cloned(),
        });
        let recording = options.event_folder.clone().map(Recording::new).transpose()?;
        let logs = self.folder.logs();
        let lambda = Lambda::new(&launcher, options.concurrency, &logs, options.logs, recording)?;
        let lambda = Arc::new(lambda);
        tasks.spawn(Arc::clone(&lambda).reap());
        let runtime_api = runtime_api.serve(lambda::router(Arc::clone(&lambda)));
        Ok((lambda, launcher, runtime_api))
    }

    fn start_event_source(self, lambda: &Arc<Lambda>, tasks: &mut JoinSet<()>) -> Switch {
        let (switch, event_source) = event_source::start(Mapping {
            sqs: self.clients.sqs.clone(),
            queue_url: self.endpoints.finalize_queue.clone(),
            queue_arn: provision::queue_arn(QUEUE),
            lambda: Arc::clone(lambda),
            function: Function::TurnFinalizer,
            batch: 10,
            prepare: None,
            cap: self.options.concurrency,
        });
        tasks.spawn(event_source);
        switch
    }

    /// Starts the second event source of `turn-finalizer`. Its batches wait for receivers, so they count by themselves.
    fn start_webhooks(self, lambda: &Arc<Lambda>, tasks: &mut JoinSet<()>) -> Switch {
        let (switch, event_source) = event_source::start(Mapping {
            sqs: self.clients.sqs.clone(),
            queue_url: self.endpoints.webhook_queue.clone(),
            queue_arn: provision::queue_arn(WEBHOOK_QUEUE),
            lambda: Arc::clone(lambda),
            function: Function::TurnFinalizer,
            batch: 10,
            prepare: None,
            cap: self.options.concurrency,
        });
        tasks.spawn(event_source);
        switch
    }

    /// Starts the event source of `execute`, whose messages have turns continued.
    fn start_turns(self, lambda: &Arc<Lambda>, tasks: &mut JoinSet<()>) -> Switch {
        let (switch, event_source) = event_source::start(Mapping {
            sqs: self.clients.sqs.clone(),
            queue_url: self.endpoints.turn_queue.clone(),
            queue_arn: provision::queue_arn(TURN_QUEUE),
            lambda: Arc::clone(lambda),
            function: Function::Execute,
            batch: 1,
            prepare: None,
            cap: self.options.concurrency,
        });
        tasks.spawn(event_source);
        switch
    }

    fn start_indexer(self, lambda: &Arc<Lambda>, launcher: Arc<Launcher>, tasks: &mut JoinSet<()>) -> Switch {
        let (switch, event_source) = event_source::start(Mapping {
            sqs: self.clients.sqs.clone(),
            queue_url: self.endpoints.knowledge_queue.clone(),
            queue_arn: provision::queue_arn(KNOWLEDGE_QUEUE),
            lambda: Arc::clone(lambda),
            function: Function::KnowledgeIndexer,
            batch: 1,
            prepare: Some(launcher),
            cap: self.options.concurrency.min(MAX_INDEXERS),
        });
        tasks.spawn(event_source);
        switch
    }

    fn start_sweep_timer(self, tasks: &mut JoinSet<()>) {
        if let Some(period) = self.options.sweep {
            let (sqs, queue) = (self.clients.sqs.clone(), self.endpoints.finalize_queue.clone());
            tasks.spawn(sweep_timer::run(sqs, queue, period));
        }
    }

    /// Serves the API, its documentation and the console.
    fn start_api(
        self,
        listener: Listener,
        lambda: &Arc<Lambda>,
        tokens: &Tokens,
        console_key: &str,
    ) -> Result<Server, Error> {
        let is_oidc = self.options.oidc.is_some();
        let authorizer = if is_oidc { Authorizer::Oidc } else { Authorizer::Cognito(tokens.clone()) };
        let disk = DiskSpace::new(self.folder.root().to_owned(), self.options.min_free_bytes);
        let gateway = Gateway::new(Arc::clone(lambda), authorizer, listener.address(), disk)?;
        let console = console::router(Console {
            api: None,
            key: console_key.to_owned(),
            issuer: if is_oidc { Issuer::Typed } else { Issuer::Local(tokens.clone()) },
            payloads: self.endpoints.s3.clone(),
            machine: Some(Machine {
                lambda: Arc::clone(lambda),
                sqs: self.clients.sqs.clone(),
                endpoints: self.endpoints.clone(),
                data: self.folder.root().to_owned(),
                logs: self.folder.logs(),
                is_mock: matches!(self.options.model, Model::Mock(_)),
                model_setup: self.options.model_setup.clone(),
                start: secret::random(),
            }),
            queues: None,
        });
        Ok(listener.serve(docs::router().merge(console).merge(gateway::router(gateway))))
    }
}

/// Serves the AWS credentials of the options, or else the developer's, if a provider's requests are signed.
async fn start_credentials(options: &Options) -> std::io::Result<Option<CredentialsServer>> {
    if !environment::signs_requests(options) {
        return Ok(None);
    }
    let provider = match options.aws_credentials.clone() {
        Some(provider) => provider,
        None => {
            let region = aws_credentials::default_region().await;
            aws_credentials::from_default_chain(region.unwrap_or_else(|| REGION.to_owned())).await
        }
    };
    CredentialsServer::start(provider).await.map(Some)
}

/// Refuses to start a cloud in a function's process.
fn refuse_nesting() -> Result<(), Error> {
    match std::env::var_os(lambda::RUNTIME_API_VARIABLE) {
        Some(_) => Err(Error::Nested),
        None => Ok(()),
    }
}

/// Binds the API's port.
async fn listen(port: u16) -> Result<Listener, Error> {
    Listener::bind_loopback(port).await.map_err(|source| Error::Port { port, source })
}

/// Creates missing resources. Returns clients of the services.
async fn provision(options: &Options, endpoints: &Endpoints, keys: &ServiceKeys) -> Result<Clients, Error> {
    let clients = Clients::new(&endpoints.dynamodb, &endpoints.s3, &endpoints.sqs, keys);
    clients.provision(options.visibility_seconds()).await?;
    Ok(clients)
}

/// Returns the functions' executable: the configured one, or the running one.
pub(crate) fn executable(configured: Option<&Path>) -> Result<PathBuf, Error> {
    let path = match configured {
        Some(path) => path.to_owned(),
        None => std::env::current_exe()?,
    };
    if path.is_file() { Ok(path) } else { Err(Error::Executable(path.display().to_string())) }
}
