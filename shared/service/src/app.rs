//! Builds the application from the settings, once per process.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use agent::{
    context::{
        self,
        config::{AgentConfig, VisibilityPolicy},
    },
    mode::Catalog,
    model::providers::Providers,
    retrieval::DefaultSources,
    tool::{
        self, Registry,
        diagnostics::{Sleep, diagnostics},
    },
};
use axum::extract::FromRef;
use contracts::{
    id::{OrgId, SessionId},
    read::Visibility,
};
use protocol::Caller;
use protocol::chain::{ConversationStatePolicy, provider_id};
use runtime::{ClaimNames, Reply, api::ResponseMode, stream::KeepAlive};
use settings::{Env, Kind};
use storage::{Clients, Objects, Queue, Table};
use turns::{
    flow::{
        Canceler, Executor, FeedbackWriter, Forker, Importer, SessionEditor, SessionPolicy, SessionReader,
        WithWarnings,
    },
    ports::{Adapters, AgentAdapters},
    refusal::Refusal,
    system::System,
};

use crate::{
    providers::{self, CachedKey},
    sources::{self, Sources},
};

pub use turns::flow::{IdPolicy, Invocation};

/// The production adapters, shared by the flows.
pub type SharedAdapters =
    Arc<AgentAdapters<Adapters<Table, Objects, System>, Queue, llm::Providers<CachedKey>, Option<Sources>>>;

/// The executor of turns, with the production adapters.
pub type Turns = Executor<SharedAdapters>;

/// The state that the handlers share.
#[derive(Clone, FromRef)]
pub struct App {
    /// The executor of turns.
    pub turns: Arc<Turns>,
    /// Cancels turns.
    pub canceler: Canceler<SharedAdapters>,
    /// Edits, deletes and restores sessions.
    pub session_editor: SessionEditor<SharedAdapters>,
    /// Forks sessions.
    pub forker: Forker<SharedAdapters>,
    /// Imports sessions.
    pub importer: Importer<SharedAdapters>,
    /// Writes feedback.
    pub feedback: FeedbackWriter<SharedAdapters>,
    /// The reader of sessions and turns.
    pub reader: Arc<SessionReader<Table, Objects>>,
    /// The keep-alive intervals.
    pub keep_alive: KeepAlive,
    /// The response mode of the function.
    pub response_mode: ResponseMode,
    /// True if the OpenAI-compatible API is served.
    pub serves_openai_api: bool,
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
        let timing = runtime::timing(&mut env);
        let model_providers = providers::Settings::read(&mut env);
        let sources = sources::Settings::read(&mut env);
        let index = env.read(&settings::QDRANT_SESSIONS_COLLECTION);
        let sessions_are_indexed = sources.is_some() && index.is_some();
        let model = env.read(&settings::OPENAI_MODEL);
        let chain = env.read(&settings::CONVERSATION_STATE).parse().unwrap_or_default();
        let visibility = read_visibility(&mut env);
        let retention = retention_overrides(&mut env);
        let with_diagnostics = env.read(&settings::DIAGNOSTIC_TOOLS);
        let keep_alive = KeepAlive::read(&mut env);
        let claims = Arc::new(ClaimNames::read(&mut env));
        let response_mode = ResponseMode::read(&mut env);
        let serves_openai_api = env.read(&settings::OPENAI_COMPATIBLE_API);
        env.finish()?;

        let Clients { table, objects, queue, secrets } = Clients::load(&storage).await;
        let model_providers = model_providers.with_keys(&secrets);
        let (configured, retrieval) = match (sources, model_providers.default_provider()) {
            (Some(sources), Some((config, key))) => Some(sources.sources(config, key, &secrets)?).unzip(),
            _ => (None, None),
        };
        let (ids, model_providers) = connect(model_providers)?;
        let reader = SessionReader::new(table.clone(), objects.clone());
        let policy = SessionPolicy { retention_overrides: retention, sessions_are_indexed };
        let adapters = Arc::new(AgentAdapters {
            base: Adapters { store: table, payloads: objects, host: System::new(), timing },
            queue,
            config: Arc::new(config(model, ids, chain, configured, visibility, with_diagnostics)?),
            model: model_providers,
            retrieval,
        });
        Ok(Self {
            turns: Arc::new(Executor::new(Arc::clone(&adapters))),
            canceler: Canceler::new(Arc::clone(&adapters)),
            session_editor: SessionEditor::new(Arc::clone(&adapters), policy),
            forker: Forker::new(Arc::clone(&adapters), sessions_are_indexed),
            importer: Importer::new(Arc::clone(&adapters), sessions_are_indexed),
            feedback: FeedbackWriter::new(adapters),
            reader: Arc::new(reader),
            keep_alive,
            response_mode,
            serves_openai_api,
            claims,
        })
    }
}

impl App {
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

/// Reads the visibility of new sessions.
fn read_visibility(env: &mut Env) -> VisibilityPolicy {
    let elsewhere = match env.read(&settings::SESSION_VISIBILITY) {
        "participants" => Visibility::Participants,
        _ => Visibility::Org,
    };
    let setting = &settings::SESSION_VISIBILITY_OVERRIDES;
    let by_org = env.read(setting).map_or(Ok(BTreeMap::new()), |text| serde_json::from_str(&text));
    let by_org = by_org.unwrap_or_else(|_| {
        env.add_fault(format!(
            "{} must be a JSON object of orgs, each with org or participants",
            setting.name
        ));
        BTreeMap::new()
    });
    VisibilityPolicy { default: elsewhere, by_org }
}

/// Reads the per-org overrides of the retention of deleted sessions.
fn retention_overrides(env: &mut Env) -> BTreeMap<OrgId, Duration> {
    let setting = &settings::SESSION_RETENTION_DAYS_OVERRIDES;
    let by_org: Option<BTreeMap<OrgId, f64>> =
        env.read(setting).map_or(Some(BTreeMap::new()), |text| serde_json::from_str(&text).ok());
    let parse = |(org, days): (OrgId, f64)| {
        let retention = settings::SESSION_RETENTION_DAYS.kind.parse(&days.to_string());
        retention.map(|retention| (org, retention))
    };
    let by_org: Option<_> = by_org.and_then(|by_org| by_org.into_iter().map(parse).collect());
    by_org.unwrap_or_else(|| {
        let rule = settings::SESSION_RETENTION_DAYS.kind.rule();
        env.add_fault(format!("{} must be a JSON object of orgs, each with {rule}", setting.name));
        BTreeMap::new()
    })
}

/// Creates a client of each provider, and maps provider names to provider ids.
fn connect(
    resolved: providers::ResolvedProviders,
) -> Result<(Providers, llm::Providers<CachedKey>), lambda_http::Error> {
    let providers::ResolvedProviders { providers, default } = resolved;
    let (mut ids, mut wires, mut clients) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for (name, (config, key)) in providers {
        key.prefetch();
        let host = config.provider_host()?;
        let id = provider_id(Some(name.as_str()).filter(|name| !name.is_empty()), &host);
        wires.insert(id.clone(), config.wire);
        ids.insert(name.clone(), id);
        clients.insert(name, llm::Client::new(config, key)?);
    }
    let ids = Providers { default: ids.get(&default).cloned().unwrap_or_default(), named: ids, wires };
    Ok((ids, llm::Providers { clients, default }))
}

/// Builds the agent configuration. Validates modes, tools and default contexts.
fn config(
    model: String,
    providers: Providers,
    chain: ConversationStatePolicy,
    retrieval: Option<DefaultSources>,
    visibility: VisibilityPolicy,
    with_diagnostics: bool,
) -> Result<AgentConfig, lambda_http::Error> {
    let mut tools = tool::built_in();
    let mut always: Vec<String> = retrieval.iter().map(|_| tool::SEARCH_CONTEXT.to_owned()).collect();
    if with_diagnostics {
        let diagnostics = diagnostics(Sleep::new(tokio::time::sleep));
        always.extend(diagnostics.iter().map(|tool| tool.definition().name.clone()));
        tools.extend(diagnostics);
    }
    let tools = Registry::new(tools)?;
    let names: Vec<&str> = tools.names().collect();
    let catalog = if with_diagnostics { Catalog::with_diagnostics(&names)? } else { Catalog::seed(&names)? };
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
    })
}

/// Returns the error reply of a refused request.
#[must_use]
pub fn error_reply(refusal: Refusal) -> Reply {
    Reply::error_with_cause(&refusal, refusal.error())
}
