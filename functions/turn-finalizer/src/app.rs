//! The wiring: settings to adapters to the finalizing flow, once per process.

use lambda_runtime::Error;
use protocol::timing::Timing;
use runtime::Env;
use storage::{Clients, Objects, Table};
use turns::{flow::Finalizer, ports::Adapters, system::System};

/// Finalizes over the real adapters.
pub(crate) type TurnFinalizer = Finalizer<Adapters<Table, Objects, System>>;

pub(crate) async fn start() -> Result<TurnFinalizer, Error> {
    let mut env = Env::default();
    let storage = storage::Settings::read(|name| env.required(name));
    let timing = Timing::configured(
        env.seconds("LEASE_SECONDS"),
        env.seconds("ABANDON_GRACE_SECONDS"),
        env.seconds("TOOL_WAIT_SECONDS"),
    );
    env.finish()?;
    let Clients { table, objects, .. } = Clients::load(&storage).await;
    Ok(Finalizer::new(Adapters { store: table, payloads: objects, host: System::new(), timing }))
}
