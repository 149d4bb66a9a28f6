//! The wiring: settings to adapters to the reading flow, once per process.

use std::sync::Arc;

use axum::extract::FromRef;
use protocol::{Caller, timing::Timing};
use runtime::{ClaimNames, Reply, api::Answers, page_token::PageTokens, query::List, stream::Pace};
use session_index::{SessionIndex, Wait};
use settings::Env;
use storage::{Clients, Objects, Table};
use turns::{flow::SessionReader, refusal::Refusal};

use crate::parameters::Page;

/// What the handlers share.
#[derive(Clone, FromRef)]
pub(crate) struct App {
    pub(crate) reader: Arc<SessionReader<Table, Objects>>,
    /// The index of sessions, where there is one.
    pub(crate) index: Option<SessionIndex>,
    pub(crate) pace: Pace,
    pub(crate) timing: Timing,
    pub(crate) answers: Answers,
    tokens: PageTokens,
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
        let tokens = PageTokens::read(&mut env);
        let index = session_index::Settings::read(&mut env);
        env.finish()?;
        let Clients { table, objects, secrets, .. } = Clients::of_environment(&storage);
        let index = index.map(|index| index.index(&secrets, Wait::OF_A_SEARCH)).transpose()?;
        let reader = Arc::new(SessionReader::new(table, objects));
        Ok(Self { reader, index, pace, timing, answers, tokens, claims })
    }

    /// Where a page begins; none of the first.
    pub(crate) fn place(&self, caller: &Caller, page: &Page) -> Result<Option<String>, Reply> {
        page.token.as_deref().map(|token| self.tokens.open(caller, &page.list, token)).transpose()
    }

    /// Seals the place where a page ended, as its token.
    pub(crate) fn seal(&self, caller: &Caller, list: &List, place: &mut Option<String>) {
        *place = place.take().map(|place| self.tokens.seal(caller, list, &place));
    }
}

pub(crate) fn refused(refusal: Refusal) -> Reply {
    Reply::refused(&refusal, refusal.error())
}
