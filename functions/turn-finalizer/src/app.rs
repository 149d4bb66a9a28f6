//! The wiring: settings to adapters to the finalizing flow, once per process.

use lambda_runtime::Error;
use settings::Env;
use storage::{Clients, Objects, Table};
use turns::{flow::Finalizer, ports::Adapters, system::System};

/// Finalizes over the real adapters.
pub(crate) type TurnFinalizer = Finalizer<Adapters<Table, Objects, System>>;

pub(crate) async fn start() -> Result<TurnFinalizer, Error> {
    let mut env = Env::of_process();
    let storage = storage::Settings::read(&mut env);
    let timing = runtime::timing(&mut env);
    env.finish()?;
    let Clients { table, objects, .. } = Clients::load(&storage).await;
    Ok(Finalizer::new(Adapters { store: table, payloads: objects, host: System::new(), timing }))
}
