//! Builds the application from the settings, once per process.

use lambda_runtime::Error;
use service::{
    providers::{self, StoredResponses},
    session_index::{self, SessionIndex, SessionIndexTimeouts},
    titles::{self, ProductionTitler},
};
use settings::Env;
use storage::{Clients, Objects, Queue, Table};
use turns::{
    flow::{Finalizer, Indexer, Purger},
    ports::Adapters,
    system::System,
};

type ProductionAdapters = Adapters<Table, Objects, System>;

/// The flows, with the production adapters.
pub(crate) struct App {
    /// The finalizer and sweeper of turns.
    pub(crate) finalizer: Finalizer<ProductionAdapters, StoredResponses>,
    /// The writer of session titles.
    pub(crate) titler: ProductionTitler<ProductionAdapters>,
    /// The purger of sessions.
    pub(crate) purger: Purger<ProductionAdapters, StoredResponses, Option<SessionIndex>>,
    /// The queue whose messages trigger the function.
    pub(crate) queue: Queue,
    /// The session indexer, if configured.
    pub(crate) indexer: Option<Indexer<Table, SessionIndex>>,
}

impl App {
    pub(crate) async fn start() -> Result<Self, Error> {
        let mut env = Env::from_process();
        let storage = storage::Settings::read(&mut env);
        let timing = runtime::timing(&mut env);
        let providers = providers::Settings::read_for_finalizer(&mut env);
        let titles = titles::Settings::read(&mut env, &providers);
        let index = session_index::Settings::read(&mut env);
        env.finish()?;
        let Clients { table, objects, queue, secrets, .. } = Clients::load(&storage).await;
        let providers = providers.with_keys(&secrets);
        let stored_responses = StoredResponses::new(providers.clone())?;
        let adapters =
            || Adapters { store: table.clone(), payloads: objects.clone(), host: System::new(), timing };
        let index = index.map(|index| index.index(&secrets, SessionIndexTimeouts::INDEXING)).transpose()?;
        Ok(Self {
            finalizer: Finalizer::new(adapters()).with_provider_usage(stored_responses.clone()),
            titler: titles.titler(adapters(), providers)?,
            queue,
            purger: Purger::new(adapters(), stored_responses, index.clone()),
            indexer: index.map(|index| Indexer::new(table, index)),
        })
    }
}
