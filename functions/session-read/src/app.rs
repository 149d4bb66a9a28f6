//! Builds the application from the settings, once per process.

use std::sync::Arc;

use axum::extract::FromRef;
use protocol::{Caller, timing::Timing};
use runtime::{
    ClaimNames, Reply, api::ResponseMode, id_key::IdKeys, page_token::PageTokens, query::ListScope,
    stream::KeepAlive,
};
pub(crate) use service::handlers::error_reply;
use service::session_index::{self, SessionIndex, SessionIndexTimeouts};
use settings::Env;
use storage::{Clients, Objects, Table, Uploads};
use turns::flow::SessionReader;

use crate::parameters::Page;

/// The state that the handlers share.
#[derive(Clone, FromRef)]
pub(crate) struct App {
    pub(crate) reader: Arc<SessionReader<Table, Objects>>,
    /// The table, for flows that are functions.
    pub(crate) documents: Table,
    /// The session index, if configured.
    pub(crate) index: Option<SessionIndex>,
    /// The files that users uploaded.
    pub(crate) uploads: Uploads,
    pub(crate) keep_alive: KeepAlive,
    pub(crate) timing: Timing,
    pub(crate) response_mode: ResponseMode,
    /// True if the OpenAI-compatible API is served.
    pub(crate) serves_openai_api: bool,
    /// The model for contexts that name none.
    pub(crate) model: Arc<str>,
    /// The keys of ids that follow from requests.
    pub(crate) id_keys: IdKeys,
    tokens: PageTokens,
    claims: Arc<ClaimNames>,
}

impl App {
    pub(crate) async fn start() -> Result<Self, lambda_http::Error> {
        let mut env = Env::from_process();
        let storage = storage::Settings::read(&mut env);
        let keep_alive = KeepAlive::read(&mut env);
        let timing = runtime::timing(&mut env);
        let claims = Arc::new(ClaimNames::read(&mut env));
        let response_mode = ResponseMode::read(&mut env);
        let tokens = PageTokens::read(&mut env);
        let id_keys = IdKeys::read(&mut env);
        let serves_openai_api = env.read(&settings::OPENAI_COMPATIBLE_API);
        let model = env.read(&settings::OPENAI_MODEL).into();
        let index = session_index::Settings::read(&mut env);
        env.finish()?;
        let Clients { table, objects, secrets, .. } = Clients::load(&storage).await;
        let index = index.map(|index| index.index(&secrets, SessionIndexTimeouts::SEARCH)).transpose()?;
        let documents = table.clone();
        let uploads = Uploads::new(objects.clone());
        let reader = Arc::new(SessionReader::new(table, objects));
        Ok(Self {
            reader,
            documents,
            index,
            uploads,
            keep_alive,
            timing,
            response_mode,
            serves_openai_api,
            model,
            id_keys,
            tokens,
            claims,
        })
    }

    /// Decrypts the page token of a request. Returns `None` for the first page.
    pub(crate) fn open_page_token(
        &self,
        caller: &Caller,
        list: &ListScope,
        page: &Page,
    ) -> Result<Option<String>, Reply> {
        page.token().map(|token| self.open_token(caller, list, token)).transpose()
    }

    /// Decrypts a page token.
    pub(crate) fn open_token(&self, caller: &Caller, list: &ListScope, token: &str) -> Result<String, Reply> {
        self.tokens.open(caller, list, token)
    }

    /// Encrypts the end position of a page into its token.
    pub(crate) fn seal_page_token(&self, caller: &Caller, list: &ListScope, position: &mut Option<String>) {
        *position = position.take().map(|position| self.tokens.seal(caller, list, &position));
    }
}
