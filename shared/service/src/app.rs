//! Builds the application from the settings, once per process.

use std::sync::Arc;

use agent::{
    context::{self, config::AgentConfig},
    mode::Catalog,
    model::providers::Providers,
    retrieval::DefaultSources,
    tool::{self, Registry},
};
use axum::extract::FromRef;
use contracts::{id::SessionId, request::SessionVisibility};
use knowledge::requests::Stores;
use protocol::{Caller, chain::ConversationStatePolicy};
use runtime::{
    ClaimNames, Reply, api::ResponseMode, id_key::IdKeys, page_token::PageTokens, stream::KeepAlive,
};
use settings::Env;
use storage::{
    Clients, ConnectionSecretStore, KnowledgeQueue, Objects, Queue, Table, TurnQueue, Uploads,
    WebhookSecretStore,
};
use turns::{
    flow::{
        Executor, Precondition, SessionOperation, SessionPolicy, SessionReader, WithWarnings,
        change_session_if,
    },
    ports::{Adapters, AgentAdapters, Deps},
    system::System,
};

use crate::{
    connections::{self, Outside, RemoteTools},
    diagnostics,
    model_clients::{self, ModelClients},
    providers,
    session_index::{self, SessionIndex, SessionIndexTimeouts},
    sources::{self, Sources},
    webhooks::WebhookClient,
};

pub use crate::handlers::error_reply;
pub use turns::flow::{
    GivenAnswer, IdPolicy, Invocation, abandon_turn, answer_approval, cancel_turn, fork_session,
    import_sessions, settle_turn, submit_feedback,
};

/// The production adapters, shared by the flows.
pub type SharedAdapters =
    Arc<AgentAdapters<Adapters<Table, Objects, System>, Queue, ModelClients, Option<Sources>, RemoteTools>>;

/// The executor of turns, with the production adapters.
pub type Turns = Executor<SharedAdapters>;

/// The state that the handlers share.
#[derive(Clone, FromRef)]
pub struct App {
    /// The executor of turns.
    pub turns: Arc<Turns>,
    /// The ports, for flows that are functions.
    pub adapters: SharedAdapters,
    /// The settings that concern sessions.
    pub session_policy: SessionPolicy,
    /// The reader of sessions and turns.
    pub reader: Arc<SessionReader<Table, Objects>>,
    /// The secrets of connections.
    pub connection_secrets: ConnectionSecretStore,
    /// The sender of events to webhooks.
    pub receivers: WebhookClient,
    /// The secrets of webhooks.
    pub webhook_secrets: WebhookSecretStore,
    /// The files that users uploaded.
    pub uploads: Uploads,
    /// The queue of documents to index, if the deployment indexes them.
    pub knowledge: Option<KnowledgeQueue>,
    /// The queue of turns to continue.
    pub turn_queue: TurnQueue,
    /// The keep-alive intervals.
    pub keep_alive: KeepAlive,
    /// The response mode of the function.
    pub response_mode: ResponseMode,
    /// True if the OpenAI-compatible API is served.
    pub serves_openai_api: bool,
    /// The keys of ids that follow from requests.
    pub id_keys: IdKeys,
    /// The keys of page tokens.
    pub page_tokens: PageTokens,
    /// The session index, if configured.
    pub index: Option<SessionIndex>,
    claims: Arc<ClaimNames>,
}

impl App {
    /// Reads the settings and builds the application.
    ///
    /// # Errors
    /// If a setting, the mode catalog, a tool or a default context is invalid. The error lists every fault.
    pub async fn start() -> Result<Self, lambda_http::Error> {
        let mut env = Env::from_process();
        let storage = storage::Settings::read(&mut env);
        let loaded = providers::load_stored(&mut env, &storage).await?;
        let timing = runtime::timing(&mut env);
        let model_providers = providers::Settings::read(&mut env);
        let sources = sources::Settings::read(&mut env);
        let connections = connections::Settings::read(&mut env);
        let index = session_index::Settings::read(&mut env);
        let is_indexed = sources.is_some() && index.is_some();
        let model = env.read(&settings::OPENAI_MODEL);
        let chain = env.read(&settings::CONVERSATION_STATE).parse().unwrap_or_default();
        let visibility = read_visibility(&mut env);
        let with_diagnostics = env.read(&settings::DIAGNOSTIC_TOOLS);
        let store_raw_payloads = env.read(&settings::STORE_RAW_PAYLOADS);
        let keep_alive = KeepAlive::read(&mut env);
        let claims = Arc::new(ClaimNames::read(&mut env));
        let response_mode = ResponseMode::read(&mut env);
        let serves_openai_api = env.read(&settings::OPENAI_COMPATIBLE_API);
        let id_keys = IdKeys::read(&mut env);
        let page_tokens = PageTokens::read(&mut env);
        let knowledge = env.read(&settings::KNOWLEDGE_QUEUE_URL);
        let turn_queue = env.read(&settings::TURN_QUEUE_URL);
        env.finish()?;

        let Clients { table, objects, queue, secrets } = match loaded {
            Some(clients) => clients,
            None => Clients::load(&storage).await,
        };
        let Outside { remote_tools, connection_secrets, receivers, webhook_secrets } =
            connections.connect(&secrets)?;
        let model_providers = model_providers.with_keys(&secrets);
        let (configured, retrieval) = match (sources, model_providers.default_provider()) {
            (Some(sources), Some((config, key))) => Some(sources.sources(config, key, &secrets)?).unzip(),
            _ => (None, None),
        };
        let index = index.map(|index| index.index(&secrets, SessionIndexTimeouts::SEARCH)).transpose()?;
        model_providers.prefetch_keys();
        let (ids, model_providers) = model_clients::connect(model_providers)?;
        let reader = SessionReader::new(table.clone(), objects.clone());
        let uploads = Uploads::new(objects.clone());
        let knowledge = knowledge.map(|url| KnowledgeQueue::new(&queue, url));
        let turn_queue = TurnQueue::new(&queue, turn_queue);
        let config = config(model, ids, chain, configured, visibility, with_diagnostics)?;
        let config = Arc::new(AgentConfig { store_raw_payloads, ..config });
        let adapters = Arc::new(AgentAdapters {
            base: Adapters { store: table, payloads: objects, host: System::new(), timing },
            queue,
            config,
            model: model_providers,
            retrieval,
            remote_tools,
        });
        Ok(Self {
            turns: Arc::new(Executor::new(Arc::clone(&adapters))),
            session_policy: SessionPolicy { is_indexed, default_visibility: visibility },
            adapters,
            reader: Arc::new(reader),
            connection_secrets,
            receivers,
            webhook_secrets,
            uploads,
            knowledge,
            turn_queue,
            keep_alive,
            response_mode,
            serves_openai_api,
            id_keys,
            page_tokens,
            index,
            claims,
        })
    }
}

impl App {
    /// Returns the stores that a change of a document for agents needs.
    #[must_use]
    pub fn knowledge_stores(&self) -> Stores<'_, Table, Objects, KnowledgeQueue> {
        let (records, contents) = (self.adapters.store(), self.adapters.payloads());
        Stores { records, contents, announcements: self.knowledge.as_ref() }
    }

    /// Changes a session under the condition of the request.
    ///
    /// # Errors
    /// If the change is refused.
    pub async fn change_session(
        &self,
        caller: &Caller,
        id: &SessionId,
        required: Precondition,
        operation: &SessionOperation<'_>,
    ) -> Result<(), Reply> {
        let Self { adapters, session_policy, reader, .. } = self;
        change_session_if(adapters, *session_policy, reader, caller, id, required, operation)
            .await
            .map_err(error_reply)
    }

    /// Returns the reply to a session change: the summary of the changed session.
    ///
    /// # Errors
    /// If the session no longer exists or can't be read.
    pub async fn session_summary(&self, caller: &Caller, session: SessionId) -> Result<Reply, Reply> {
        let WithWarnings { result, warnings } =
            self.reader.session_summary(caller, session).await.map_err(error_reply)?;
        Ok(Reply::ok_with_warnings(result, warnings))
    }
}

/// Reads the visibility of new sessions, for orgs that set none.
fn read_visibility(env: &mut Env) -> SessionVisibility {
    let name = env.read(&settings::SESSION_VISIBILITY);
    // Another value is reported when `env` finishes.
    let found = SessionVisibility::ALL.into_iter().find(|(known, _)| *known == name);
    found.map_or(SessionVisibility::ParticipantsOnly, |(_, visibility)| visibility)
}

/// Builds the agent configuration. Validates modes, tools and default contexts.
fn config(
    model: String,
    providers: Providers,
    chain: ConversationStatePolicy,
    retrieval: Option<DefaultSources>,
    visibility: SessionVisibility,
    with_diagnostics: bool,
) -> Result<AgentConfig, lambda_http::Error> {
    let mut tools = tool::built_in();
    let mut always: Vec<String> = retrieval.iter().map(|_| tool::SEARCH_CONTEXT.to_owned()).collect();
    if with_diagnostics {
        let diagnostics = diagnostics::tools()?;
        always.extend(diagnostics.iter().map(|tool| tool.definition().name.clone()));
        tools.extend(diagnostics);
    }
    let tools = Registry::new(tools)?;
    let names: Vec<&str> = tools.names().collect();
    let catalog = if with_diagnostics { diagnostics::catalog(&names)? } else { Catalog::seed(&names)? };
    let catalog = catalog.with_tools(tools.definitions());
    let defaults = context::defaults()?;
    Ok(AgentConfig {
        catalog,
        tools,
        defaults,
        model,
        providers,
        conversation_state: chain,
        retrieval,
        visibility,
        always_on_tools: always,
        store_raw_payloads: false,
    })
}
