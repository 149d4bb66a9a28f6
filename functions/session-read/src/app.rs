//! The wiring: settings to adapters to the reading flow, once per process.

use std::sync::Arc;

use axum::extract::FromRef;
use runtime::{ClaimNames, Env, Reply};
use storage::{Clients, Objects, Table};
use turns::flow::{Reader, Refusal};

/// What the handlers share.
#[derive(Clone, FromRef)]
pub(crate) struct App {
    pub(crate) reader: Arc<Reader<Table, Objects>>,
    claims: Arc<ClaimNames>,
}

impl App {
    pub(crate) async fn start() -> Result<Self, lambda_http::Error> {
        let mut env = Env::default();
        let storage = storage::Settings::read(|name| env.required(name));
        let claims = Arc::new(ClaimNames::read(&mut env));
        env.finish()?;
        let Clients { table, objects, .. } = Clients::load(&storage).await;
        Ok(Self { reader: Arc::new(Reader { store: table, payloads: objects }), claims })
    }
}

pub(crate) fn refused(refusal: Refusal) -> Reply {
    Reply::refused(&refusal, refusal.error(), refusal.retry_after())
}
