//! The agent's configuration: modes, tools and default contexts.

use contracts::{id::AgentContextId, request::SessionVisibility};
use protocol::{
    chain::{ConversationStatePolicy, HistoryOwner, Target},
    session::Hints,
};

use crate::{
    attempt::{HistorySpec, InputSpec, PromptSpec, ToolSpec, TurnSpec},
    context::{Defaults, ResolvedContext, Rules, ToolsOnContinuation},
    mode::Catalog,
    model::{model_settings::ModelSettings, providers::Providers, route::Route},
    retrieval::{DefaultSources, EmbeddingModel, Hint, MAX_CHUNKS, Sources, key},
    tool::{self, Definition, ExecutedBy, Registry, ToolSelection},
};

/// The configuration of a process, validated at its start.
#[derive(Debug)]
pub struct AgentConfig {
    /// The built-in modes. Those of an org are read with its turns.
    pub catalog: Catalog,
    /// The server's tools.
    pub tools: Registry,
    /// Defaults for what contexts leave unset.
    pub defaults: Defaults,
    /// The model for conversation contexts that name none.
    pub model: String,
    /// The model providers.
    pub providers: Providers,
    /// The owner of the conversation history for contexts that name none.
    pub conversation_state: ConversationStatePolicy,
    /// The default sources of contexts that name no collection. `None` if nothing is indexed.
    pub retrieval: Option<DefaultSources>,
    /// Visibility of new sessions, for orgs that set none.
    pub visibility: SessionVisibility,
    /// Server tools of every mode, besides `agent_change_mode`.
    pub always_on_tools: Vec<String>,
    /// Set to store the raw model requests and responses of every turn, whatever its context says.
    pub store_raw_payloads: bool,
}

impl AgentConfig {
    /// Returns the names that contexts may refer to.
    #[must_use]
    pub fn rules(&self) -> Rules<'_> {
        Rules {
            catalog: &self.catalog,
            server_tools: self.tools.names().collect(),
            providers: self.providers.declared().collect(),
        }
    }

    /// Returns the model and the provider of a turn with these settings, before anything is known of the provider.
    #[must_use]
    pub fn target(&self, effective: &ResolvedContext) -> Target {
        let Route { provider, model, prices: _ } = &effective.route;
        let (model, provider) = (model.clone(), self.providers.id(provider.as_deref()));
        let policy = self.providers.state_policy(&provider, effective.chain);
        Target { model, provider, policy, is_stateless: false }
    }

    /// Returns the sources that a turn with these settings searches in this mode of the catalog. `None` without
    /// retrieval.
    #[must_use]
    pub fn sources(
        &self,
        effective: &ResolvedContext,
        agent: Option<&AgentContextId>,
        hints: &Hints,
        catalog: &Catalog,
        mode: &str,
    ) -> Option<Sources> {
        let configured = self.retrieval.as_ref()?;
        let (chunks, tokens) =
            (effective.prompt_limits.context_chunks, effective.prompt_limits.context_tokens);
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
        let session_hints = [
            (key::REPO, hints.repo.clone()),
            (key::PROJECT_ID, hints.workspace.clone()),
            (key::LANGUAGE, hints.language.as_deref().map(str::to_lowercase)),
        ];
        let session_hints = session_hints.into_iter().filter_map(|(key, value)| {
            value.filter(|value| !value.trim().is_empty()).map(|value| Hint::new(key, &value))
        });
        let of_mode = catalog.rag_hints(mode).iter().map(|hint| Hint::new(hint.key(), hint.value()));
        Some(Sources {
            agent: Some(agent.cloned().unwrap_or_else(AgentContextId::built_in)),
            collection: effective.collection.as_ref().unwrap_or(&configured.collection).clone(),
            embedding,
            chunks: chunks.min(MAX_CHUNKS),
            tokens,
            hints: session_hints.chain(of_mode).collect(),
        })
    }

    /// Returns the resolved settings of a turn, except for those that its session fixes. The base prompt comes first,
    /// then the mode's instructions and the mode catalog, then the usage of every server tool.
    #[must_use]
    pub fn turn_spec(
        &self,
        effective: &ResolvedContext,
        catalog: &Catalog,
        mode: &str,
        history_owner: HistoryOwner,
    ) -> TurnSpec {
        let of_mode = catalog.server_tools(mode).iter().chain(&self.always_on_tools).map(String::as_str);
        let of_mode = of_mode.filter(|name| effective.allows_tool(name));
        let of_context = &effective.client_tools;
        // If a mode and a context declare the same tool, the context's declaration applies.
        let declared = |tool: &&Definition| of_context.iter().any(|other| other.name == tool.name);
        let mode_client_tools = catalog.client_tools(mode).iter().filter(|tool| !declared(tool));
        let ModelSettings { hosted_tools, web_search, .. } = &effective.settings;
        let hosted = hosted_tools.len().saturating_add(usize::from(web_search.is_some()));
        let mut selection =
            tool::select_tools(&self.tools, of_context.iter().chain(mode_client_tools), of_mode, hosted);
        let remote = tool::add_remote_tools(&self.tools, &mut selection, &effective.remote_tools, hosted);
        let ToolSelection { tools, dropped } = selection;
        for dropped in dropped {
            tracing::warn!(%dropped, "{}", contracts::log::TOOL_OMITTED);
        }
        let tool_choice = effective.tool_choice.clone().filter(|name| {
            let is_offered = tools.iter().any(|tool| tool.name == *name);
            if !is_offered {
                tracing::warn!(tool = %name, mode, "{}", contracts::log::FORCED_TOOL_UNAVAILABLE);
            }
            is_offered
        });
        let scoped: Vec<String> =
            [catalog.instructions(mode), Some(catalog.catalog_block())].into_iter().flatten().collect();
        // Of every registered tool, since the mode may change (AGN-003 §4.3). A client tool hides the server's of its
        // name.
        let is_clients =
            |name: &str| tools.iter().any(|tool| tool.executed_by == ExecutedBy::Client && tool.name == name);
        let registered = self.tools.definitions();
        let registered =
            registered.filter(|tool| !is_clients(&tool.name) && effective.allows_tool(&tool.name));
        let usage = remote.iter().map(|tool| &tool.definition);
        let usage = tool::usage_metadata_block(registered.chain(usage));
        TurnSpec {
            route: effective.route.clone(),
            fallbacks: effective.fallbacks.clone(),
            settings: effective.settings.clone(),
            prompt: PromptSpec {
                system: effective.system.clone(),
                parts: [Some(scoped.join("\n\n")), usage].into_iter().flatten().collect(),
                solution: None,
            },
            tools: ToolSpec {
                definitions: tools,
                remote,
                choice: tool_choice,
                on_continuation: effective.tools_on_continuation == ToolsOnContinuation::Send,
                max_rounds: effective.max_rounds,
                deadline_seconds: effective.tool_deadline.as_secs(),
            },
            history: HistorySpec {
                owner: history_owner,
                policy: effective.chain,
                start: None,
                tokens: effective.prompt_limits.history_tokens,
                summarize: effective.history_summary,
                cutoff_depth: 0,
                follows_unanswered: false,
                hidden_depth: 0,
            },
            inputs: InputSpec::default(),
            store_raw_payloads: self.store_raw_payloads || effective.store_raw_payloads,
        }
    }
}
