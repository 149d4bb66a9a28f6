//! The wiring: settings to adapters to the reading flow, once per process.

use std::sync::Arc;

use axum::extract::FromRef;
use protocol::timing::Timing;
use runtime::{ClaimNames, Reply, api::Answers, stream::Pace};
use settings::Env;
use storage::{Clients, Objects, Table};
use turns::{flow::SessionReader, refusal::Refusal};

/// What the handlers share.
#[derive(Clone, FromRef)]
pub(crate) struct App {
    pub(crate) reader: Arc<SessionReader<Table, Objects>>,
    pub(crate) pace: Pace,
    pub(crate) timing: Timing,
    pub(crate) answers: Answers,
    claims: Arc<ClaimNames>,
}

impl App {
    pub(crate) async fn start() -> Result<Self, lambda_http::Error> {
        let mut env = Env::of_process();
        let storage = storage::Settings::read(&mut env);
        let pace = Pace::read(&mut env);
        let timing = runtime::timing(&mut env);
        let claims = Arc::new(ClaimNames::read(&mut env));
        let answers = Answers::read(&mut env);
        env.finish()?;
        let Clients { table, objects, .. } = Clients::load(&storage).await;
        let reader = Arc::new(SessionReader::new(table, objects));
        Ok(Self { reader, pace, timing, answers, claims })
    }
}

pub(crate) fn refused(refusal: Refusal) -> Reply {
    Reply::refused(&refusal, refusal.error(), refusal.retry_after())
}
