//! The wiring: settings to adapters to the flows, once per process.

use lambda_runtime::Error;
use providers::Kept;
use session_index::{SessionIndex, Wait};
use settings::Env;
use storage::{Clients, Objects, Table};
use turns::{
    flow::{Finalizer, Indexer, Purger},
    ports::Adapters,
    system::System,
};

type RealAdapters = Adapters<Table, Objects, System>;

/// The flows over the real adapters.
pub(crate) struct App {
    /// Finalizes and sweeps.
    pub(crate) finalizer: Finalizer<RealAdapters>,
    /// Purges.
    pub(crate) purger: Purger<RealAdapters, Kept, Option<SessionIndex>>,
    /// Keeps the index of sessions, where there is one.
    pub(crate) indexer: Option<Indexer<Table, SessionIndex>>,
}

impl App {
    pub(crate) async fn start() -> Result<Self, Error> {
        let mut env = Env::of_process();
        let storage = storage::Settings::read(&mut env);
        let timing = runtime::timing(&mut env);
        let providers = providers::Settings::of_kept(&mut env);
        let index = session_index::Settings::read(&mut env);
        env.finish()?;
        let Clients { table, objects, secrets, .. } = Clients::of_environment(&storage);
        let kept = Kept::new(providers, &secrets)?;
        let adapters =
            || Adapters { store: table.clone(), payloads: objects.clone(), host: System::new(), timing };
        let index = index.map(|index| index.index(&secrets, Wait::OF_A_KEEPER)).transpose()?;
        Ok(Self {
            finalizer: Finalizer::new(adapters()),
            purger: Purger::new(adapters(), kept, index.clone()),
            indexer: index.map(|index| Indexer::new(table, index)),
        })
    }
}
