//! Builds the application from the settings, once per process.

use lambda_runtime::Error;
use service::{
    connections::WebhookSettings,
    providers::{self, StoredResponses},
    session_index::{self, SessionIndex, SessionIndexTimeouts},
    titles::{self, ProductionTitles},
    webhooks::WebhookClient,
};
use settings::Env;
use storage::{Clients, Objects, Queue, Table, TurnQueue, WebhookQueue, WebhookSecretStore};
use turns::{flow::External, ports::Adapters, system::System};

/// The production adapters.
pub(crate) struct App {
    /// The table, the objects and the host.
    pub(crate) adapters: Adapters<Table, Objects, System>,
    /// The providers' stored responses, and the session index, if configured.
    pub(crate) external: External<StoredResponses, Option<SessionIndex>>,
    /// The model that writes titles of sessions.
    pub(crate) titles: ProductionTitles,
    /// The queue whose messages trigger the function.
    pub(crate) queue: Queue,
    /// The queue of turns to continue.
    pub(crate) turn_queue: TurnQueue,
    /// The queue of the lanes of webhooks.
    pub(crate) webhook_queue: WebhookQueue,
    /// The sender of events to webhooks.
    pub(crate) receivers: WebhookClient,
    /// The secrets of webhooks.
    pub(crate) webhook_secrets: WebhookSecretStore,
}

impl App {
    pub(crate) async fn start() -> Result<Self, Error> {
        let mut env = Env::from_process();
        let storage = storage::Settings::read(&mut env);
        let loaded = providers::load_stored(&mut env, &storage).await?;
        let timing = runtime::timing(&mut env);
        let providers = providers::Settings::read_for_finalizer(&mut env);
        let titles = titles::Settings::read(&mut env, &providers);
        let index = session_index::Settings::read(&mut env);
        let webhooks = WebhookSettings::read(&mut env);
        let webhook_queue = env.read(&settings::WEBHOOK_QUEUE_URL);
        let turn_queue = env.read(&settings::TURN_QUEUE_URL);
        env.finish()?;
        let Clients { table, objects, queue, secrets, .. } = match loaded {
            Some(clients) => clients,
            None => Clients::load(&storage).await,
        };
        let providers = providers.with_keys(&secrets);
        let stored_responses = StoredResponses::new(providers.clone())?;
        let index = index.map(|index| index.index(&secrets, SessionIndexTimeouts::INDEXING)).transpose()?;
        let (receivers, webhook_secrets) = webhooks.connect(&secrets)?;
        Ok(Self {
            adapters: Adapters { store: table, payloads: objects, host: System::new(), timing },
            external: External { providers: stored_responses, index },
            titles: titles.connect(providers)?,
            turn_queue: TurnQueue::new(&queue, turn_queue),
            webhook_queue: WebhookQueue::new(&queue, webhook_queue),
            queue,
            receivers,
            webhook_secrets,
        })
    }
}
