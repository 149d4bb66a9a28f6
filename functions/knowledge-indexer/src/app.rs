//! Builds the application from the settings, once per process.

use std::{path::PathBuf, sync::Arc, time::Duration};

use indexing::document_text::{DocumentText, PROGRAM};
use lambda_runtime::Error;
use service::{
    providers::{self, CachedKey},
    sources::{self, IndexTarget},
};
use settings::Env;
use storage::{Clients, Objects, Table};

/// The production adapters.
pub(crate) struct App {
    /// The records.
    pub(crate) table: Table,
    /// The contents.
    pub(crate) objects: Objects,
    /// The vector database and the embedding provider. `None` if the deployment has none.
    pub(crate) target: Option<Arc<IndexTarget<CachedKey>>>,
    /// The program that extracts the text of documents.
    pub(crate) document_text: Option<DocumentText>,
    /// The lease of an attempt.
    pub(crate) lease: Duration,
}

impl App {
    pub(crate) async fn start() -> Result<Self, Error> {
        let mut env = Env::from_process();
        let storage = storage::Settings::read(&mut env);
        let loaded = providers::load_stored(&mut env, &storage).await?;
        let lease = env.read(&settings::LEASE_SECONDS);
        let providers = providers::Settings::read_for_finalizer(&mut env);
        let sources = sources::Settings::read(&mut env);
        let program = env.read(&settings::DOCUMENT_TEXT_PROGRAM).map(PathBuf::from);
        env.finish()?;
        let Clients { table, objects, secrets, .. } = match loaded {
            Some(clients) => clients,
            None => Clients::load(&storage).await,
        };
        let providers = providers.with_keys(&secrets);
        let target = match (sources, providers.default_provider()) {
            (Some(sources), Some((config, key))) => {
                Some(Arc::new(sources.index_target(config, key, &secrets)?))
            }
            _ => None,
        };
        let document_text = program.or_else(beside_this_program).map(|program| DocumentText { program });
        Ok(Self { table, objects, target, document_text, lease })
    }
}

/// Returns the program in the folder of this one, if there is one.
fn beside_this_program() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?.with_file_name(PROGRAM);
    program.is_file().then_some(program)
}
