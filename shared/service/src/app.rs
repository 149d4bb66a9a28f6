//! The wiring: settings to adapters to flows, once per process.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use agent::{
    config::{AgentConfig, Visibilities},
    context,
    mode::Catalog,
    providers::Providers,
    retrieval::Configured,
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
use protocol::chain::{ChainPolicy, provider_id};
use providers::ProviderKey;
use runtime::{ClaimNames, Reply, api::Answers, stream::Pace};
use settings::{Env, Kind};
use storage::{Clients, Objects, Queue, Table};
use turns::{
    flow::{Executor, SessionReader, Told},
    ports::{Adapters, AgentAdapters},
    refusal::Refusal,
    system::System,
};

use crate::sources::{self, Sources};

pub use turns::flow::{Ids, Invocation};

/// Runs turns over the real adapters.
pub type Turns = Executor<
    AgentAdapters<Adapters<Table, Objects, System>, Queue, llm::Providers<ProviderKey>, Option<Sources>>,
>;

/// What the handlers share.
#[derive(Clone, FromRef)]
pub struct App {
    /// Runs turns.
    pub turns: Arc<Turns>,
    /// Reads what came of them.
    pub reader: Arc<SessionReader<Table, Objects>>,
    /// How long a client is left without a byte.
    pub pace: Pace,
    /// How answers leave the function.
    pub answers: Answers,
    claims: Arc<ClaimNames>,
}

impl App {
    /// Reads the settings and builds everything once.
    ///
    /// # Errors
    /// When a setting, the mode catalog, a tool or a default context is wrong: with every fault named.
    pub async fn start() -> Result<Self, lambda_http::Error> {
        let mut env = Env::of_process();
        let storage = storage::Settings::read(&mut env);
        let timing = runtime::timing(&mut env);
        let model_providers = providers::Settings::read(&mut env);
        let sources = sources::Settings::read(&mut env);
        let index = env.read(&settings::QDRANT_SESSIONS_COLLECTION);
        let sessions_are_indexed = sources.is_some() && index.is_some();
        let model = env.read(&settings::OPENAI_MODEL);
        let chain = env.read(&settings::OPENAI_CHAIN).parse().unwrap_or_default();
        let visibility = visibilities(&mut env);
        let retention = retention_of_orgs(&mut env);
        let with_diagnostics = env.read(&settings::DIAGNOSTIC_TOOLS);
        let pace = Pace::read(&mut env);
        let claims = Arc::new(ClaimNames::read(&mut env));
        let answers = Answers::read(&mut env);
        env.finish()?;

        let Clients { table, objects, queue, secrets } = Clients::of_environment(&storage);
        let model_providers = model_providers.keyed(&secrets);
        let (searched, retrieval) = match (sources, model_providers.of_default()) {
            (Some(sources), Some((config, key))) => Some(sources.sources(config, key, &secrets)?).unzip(),
            _ => (None, None),
        };
        let (ids, model_providers) = connected(model_providers)?;
        let reader = SessionReader::new(table.clone(), objects.clone());
        let turns = Executor::new(AgentAdapters {
            base: Adapters { store: table, payloads: objects, host: System::new(), timing },
            queue,
            config: Arc::new(AgentConfig {
                sessions_are_indexed,
                ..config(model, ids, chain, searched, (visibility, retention), with_diagnostics)?
            }),
            model: model_providers,
            retrieval,
        });
        Ok(Self { turns: Arc::new(turns), reader: Arc::new(reader), pace, answers, claims })
    }
}

impl App {
    /// The reply to a change of a session: what it is now.
    ///
    /// # Errors
    /// When it is gone by now, or can't be read.
    pub async fn session_summary(&self, caller: &Caller, session: SessionId) -> Result<Reply, Reply> {
        let Told { result, warnings } =
            self.reader.session_summary(caller, session).await.map_err(refused)?;
        Ok(Reply::warned(result, warnings))
    }
}

/// Who may see new sessions.
fn visibilities(env: &mut Env) -> Visibilities {
    let elsewhere = match env.read(&settings::SESSION_VISIBILITY) {
        "participants" => Visibility::Participants,
        _ => Visibility::Org,
    };
    let setting = &settings::SESSION_VISIBILITY_OF_ORGS;
    let of_orgs = env.read(setting).map_or(Ok(BTreeMap::new()), |text| serde_json::from_str(&text));
    let of_orgs = of_orgs.unwrap_or_else(|_| {
        env.fault(format!("{} must be a JSON object of orgs, each with org or participants", setting.name));
        BTreeMap::new()
    });
    Visibilities { elsewhere, of_orgs }
}

/// How long deleted sessions of orgs are kept that have it otherwise than the deployment.
fn retention_of_orgs(env: &mut Env) -> BTreeMap<OrgId, Duration> {
    let setting = &settings::SESSION_RETENTION_DAYS_OF_ORGS;
    let of_orgs: Option<BTreeMap<OrgId, f64>> =
        env.read(setting).map_or(Some(BTreeMap::new()), |text| serde_json::from_str(&text).ok());
    let kept = |(org, days): (OrgId, f64)| {
        let kept = settings::SESSION_RETENTION_DAYS.kind.parse(&days.to_string());
        kept.map(|kept| (org, kept))
    };
    let of_orgs: Option<_> = of_orgs.and_then(|of_orgs| of_orgs.into_iter().map(kept).collect());
    of_orgs.unwrap_or_else(|| {
        let rule = settings::SESSION_RETENTION_DAYS.kind.rule();
        env.fault(format!("{} must be a JSON object of orgs, each with {rule}", setting.name));
        BTreeMap::new()
    })
}

/// A client of each provider, and what each is in records.
fn connected(
    keyed: providers::Keyed,
) -> Result<(Providers, llm::Providers<ProviderKey>), lambda_http::Error> {
    let providers::Keyed { providers, default } = keyed;
    let (mut ids, mut clients) = (BTreeMap::new(), BTreeMap::new());
    for (name, (config, key)) in providers {
        key.fetch_ahead();
        let host = config.provider()?;
        ids.insert(name.clone(), provider_id(Some(name.as_str()).filter(|name| !name.is_empty()), &host));
        clients.insert(name, llm::Client::new(config, key)?);
    }
    let ids = Providers { default: ids.get(&default).cloned().unwrap_or_default(), named: ids };
    Ok((ids, llm::Providers { clients, default }))
}

/// Modes, tools and default contexts, checked at start-up.
fn config(
    model: String,
    providers: Providers,
    chain: ChainPolicy,
    retrieval: Option<Configured>,
    (visibility, retention_of_orgs): (Visibilities, BTreeMap<OrgId, Duration>),
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
    let defaults = context::defaults()?;
    Ok(AgentConfig {
        catalog,
        tools,
        defaults,
        model,
        providers,
        chain,
        retrieval,
        visibility,
        retention_of_orgs,
        sessions_are_indexed: false,
        always,
    })
}

/// The reply to a refused request.
#[must_use]
pub fn refused(refusal: Refusal) -> Reply {
    Reply::refused(&refusal, refusal.error())
}
