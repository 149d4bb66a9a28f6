//! What turns are made of besides the request: modes, tools and default contexts.

use std::{collections::BTreeMap, time::Duration};

use contracts::{id::OrgId, read::Visibility};
use protocol::{
    chain::{ChainPolicy, Keeper, Target},
    session::Hints,
};

use crate::{
    context::{Defaults, Effective, Route, ToolsOnContinuation},
    mode::Catalog,
    progress::Plan,
    providers::Providers,
    retrieval::{Configured, EmbeddingModel, Hint, MOST_CHUNKS, Sources, key},
    tool::{self, AvailableMode, Definition, Facts, Merged, Registry},
};

/// Fixed for the life of a process and checked at its start.
#[derive(Debug)]
pub struct AgentConfig {
    /// The modes.
    pub catalog: Catalog,
    /// The server's tools.
    pub tools: Registry,
    /// What contexts leave open.
    pub defaults: Defaults,
    /// The model where no conversation context names one.
    pub model: String,
    /// The model providers.
    pub providers: Providers,
    /// Who remembers conversations where no conversation context says so.
    pub chain: ChainPolicy,
    /// What turns search where no conversation context says otherwise; none where nothing is indexed.
    pub retrieval: Option<Configured>,
    /// Who of its org may see a new session.
    pub visibility: Visibilities,
    /// How long deleted sessions of orgs are kept that have it otherwise than the deployment.
    pub retention_of_orgs: BTreeMap<OrgId, Duration>,
    /// Whether there is an index of sessions, which has to be told when one is renamed or made without a turn.
    pub sessions_are_indexed: bool,
    /// Server tools that every mode has, beside `agent_change_mode`.
    pub always: Vec<String>,
}

/// Who of its org may see a new session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Visibilities {
    /// In every org that is not named below.
    pub elsewhere: Visibility,
    /// In these.
    pub of_orgs: BTreeMap<OrgId, Visibility>,
}

impl Visibilities {
    /// In this org.
    #[must_use]
    pub fn of(&self, org: &OrgId) -> Visibility {
        self.of_orgs.get(org).copied().unwrap_or(self.elsewhere)
    }
}

impl AgentConfig {
    /// Where a turn with these settings is to go, as far as nothing is known of its provider.
    #[must_use]
    pub fn target(&self, effective: &Effective) -> Target {
        let Route { provider, model, prices: _ } = &effective.route;
        let (model, provider) = (model.clone(), self.providers.id(provider.as_deref()));
        Target { model, provider, policy: effective.chain, keeps_none: false }
    }

    /// What a turn with these settings searches; none where it is to be told nothing.
    #[must_use]
    pub fn sources(&self, effective: &Effective, hints: &Hints, mode: &str) -> Option<Sources> {
        let configured = self.retrieval.as_ref()?;
        let (chunks, tokens) = (effective.budgets.context_chunks, effective.budgets.context_tokens);
        if chunks == 0 || tokens == 0 {
            return None;
        }
        let embedding = match &effective.embedding_model {
            Some(name) => EmbeddingModel { name: name.clone(), dimensions: effective.dimensions },
            None => EmbeddingModel {
                dimensions: effective.dimensions.or(configured.embedding.dimensions),
                ..configured.embedding.clone()
            },
        };
        let of_session = [
            (key::REPO, hints.repo.clone()),
            (key::PROJECT_ID, hints.workspace.clone()),
            (key::LANGUAGE, hints.language.as_deref().map(str::to_lowercase)),
        ];
        let of_session = of_session.into_iter().filter_map(|(key, value)| {
            value.filter(|value| !value.trim().is_empty()).map(|value| Hint::new(key, &value))
        });
        let of_mode = self.catalog.rag_hints(mode).iter().map(|hint| Hint::new(hint.key(), hint.value()));
        Some(Sources {
            collection: effective.collection.as_ref().unwrap_or(&configured.collection).clone(),
            embedding,
            chunks: chunks.min(MOST_CHUNKS),
            tokens,
            hints: of_session.chain(of_mode).collect(),
        })
    }

    /// What a turn works with, but for what its session has latched (AGN-011 §4.3, AGN-003 §4): the base
    /// prompt first, then the mode's instructions and the catalog in the place of a per-request prompt,
    /// then the tools' usage.
    #[must_use]
    pub fn plan(&self, effective: &Effective, mode: &str, keeper: Keeper) -> Plan {
        let of_mode = self.catalog.tools_of(mode).iter().chain(&self.always).map(String::as_str);
        let of_context = &effective.client_tools;
        // A mode's tool that a context declares too is the context's, and nothing is lost.
        let declared = |tool: &&Definition| of_context.iter().any(|known| known.name == tool.name);
        let brought = self.catalog.client_tools_of(mode).iter().filter(|tool| !declared(tool));
        let hosted = effective.settings.hosted_tools.len();
        let Merged { tools, dropped } =
            tool::merge(&self.tools, of_context.iter().chain(brought), of_mode, hosted);
        for dropped in dropped {
            tracing::warn!(%dropped, "a tool was left out of the turn");
        }
        let tool_choice = effective.tool_choice.clone().filter(|name| {
            let is_offered = tools.iter().any(|tool| tool.name == *name);
            if !is_offered {
                tracing::warn!(tool = %name, mode, "the tool that the context forces is not offered");
            }
            is_offered
        });
        let scoped: Vec<String> =
            [self.catalog.instructions(mode), Some(self.catalog.block())].into_iter().flatten().collect();
        let usage = tool::usage_metadata_block(&tools);
        Plan {
            provider: effective.route.provider.clone(),
            model: effective.route.model.clone(),
            fallbacks: effective.fallbacks.clone(),
            system: effective.system.clone(),
            system_parts: [Some(scoped.join("\n\n")), usage].into_iter().flatten().collect(),
            settings: effective.settings.clone(),
            active_files: Vec::new(),
            sources: None,
            tool_choice,
            tools,
            tools_on_continuation: effective.tools_on_continuation == ToolsOnContinuation::Send,
            chain: keeper,
            chain_policy: effective.chain,
            start: None,
            cut_place: 0,
            history_tokens: effective.budgets.history_tokens,
            history_summary: effective.history_summary,
            solution: None,
            store_raw_payloads: effective.store_raw_payloads,
            prices: effective.route.prices.clone(),
            max_rounds: effective.max_rounds,
            tool_deadline_seconds: effective.tool_deadline.as_secs(),
        }
    }

    /// What tools may know about a turn that is in this mode by now.
    #[must_use]
    pub fn facts(&self, mode: &str) -> Facts {
        let offered = self.catalog.modes().filter(|mode| mode.is_offered());
        let modes = offered.map(|mode| AvailableMode {
            key: mode.key.clone(),
            display_name: mode.display_name.clone(),
            when_to_use: mode.when_to_use.clone(),
        });
        Facts { mode: mode.to_owned(), modes: modes.collect() }
    }
}
