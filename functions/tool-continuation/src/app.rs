//! The wiring: settings to adapters, once per process.

use std::sync::Arc;

use axum::extract::FromRef;
use runtime::{ClaimNames, Env};
use storage::{Clients, Table};

/// What the handlers share.
#[derive(Clone, FromRef)]
pub(crate) struct App {
    pub(crate) table: Table,
    claims: Arc<ClaimNames>,
}

impl App {
    pub(crate) async fn start() -> Result<Self, lambda_http::Error> {
        let mut env = Env::default();
        let storage = storage::Settings::read(|name| env.required(name));
        let claims = Arc::new(ClaimNames::read(&mut env));
        env.finish()?;
        let Clients { table, .. } = Clients::load(&storage).await;
        Ok(Self { table, claims })
    }
}
