//! The settings of one turn, resolved from its session's contexts and the defaults.

use std::time::Duration;

use protocol::chain::ConversationStatePolicy;

use super::{AgentContext, ConversationContext, Defaults, PromptLimits, ToolsOnContinuation};
use crate::{
    model::{model_settings::ModelSettings, price_list::list_price, route::Route},
    tool::{Definition, remote::RemoteTool},
};

/// The settings of one turn.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedContext {
    /// The provider and model to call, and the model's prices.
    pub route: Route,
    /// The fallback routes, in this order.
    pub fallbacks: Vec<Route>,
    /// The base system prompt.
    pub system: String,
    /// The settings of the model calls.
    pub settings: ModelSettings,
    /// The mode that the context requests for a new session, for
    /// [`Catalog::initial_mode`](crate::mode::Catalog::initial_mode).
    pub initial_mode: Option<String>,
    /// The tools that the client runs: the agent's, then the conversation's.
    pub client_tools: Vec<Definition>,
    /// The tools of connections. Those of an org are added once its documents are read.
    pub remote_tools: Vec<RemoteTool>,
    /// A tool that the turn's first model call must use, if the turn has it.
    pub tool_choice: Option<String>,
    /// The vector collection to search. None: the configured one.
    pub collection: Option<String>,
    /// The model that made its vectors. None: the configured one.
    pub embedding_model: Option<String>,
    /// The dimensions of its vectors. None: the configured model's, or the named model's default.
    pub dimensions: Option<u32>,
    /// The owner of the conversation state, provider or service.
    pub chain: ConversationStatePolicy,
    /// The policy for tools on chained requests.
    pub tools_on_continuation: ToolsOnContinuation,
    /// Set if the provider's raw requests and responses are stored.
    pub store_raw_payloads: bool,
    /// The time that the turn waits for the client's tool results.
    pub tool_deadline: Duration,
    /// The maximum number of server tool rounds in the turn.
    pub max_rounds: u32,
    /// The limits of each kind of content in a request.
    pub prompt_limits: PromptLimits,
    /// Set if the model summarizes earlier turns that exceed `HistoryTokens`.
    pub history_summary: bool,
    /// The server tools that the org allows. None: all.
    pub allowed_tools: Option<Vec<String>>,
    /// The names of connections' tools: the agent's, then the conversation's.
    pub tools: Vec<String>,
    /// The warnings about names of tools that have become wrong.
    pub tool_warnings: Vec<String>,
    /// The warnings of a new session about contexts that are deprecated.
    pub deprecations: Vec<String>,
}

impl ResolvedContext {
    /// Resolves a turn's settings.
    ///
    /// A session's own context is used as a whole: the default doesn't fill gaps in it, so that exactly what an
    /// operator wrote runs. Only the model's name and the owner of the conversation state can come from the
    /// deployment's configuration.
    #[must_use]
    pub fn resolve(
        agent: Option<&AgentContext>,
        conversation: Option<&ConversationContext>,
        defaults: &Defaults,
        configured: (&str, ConversationStatePolicy),
    ) -> Self {
        let (model, chain) = configured;
        let agent = agent.unwrap_or(&defaults.agent);
        let context = conversation.unwrap_or(&defaults.conversation);
        let (model, prices) = (context.model_name.as_deref().unwrap_or(model), context.prices.as_ref());
        let route = Route {
            provider: context.provider.clone(),
            model: model.to_owned(),
            prices: prices.cloned().or_else(|| list_price(model)),
        };
        let fallbacks = context.fallbacks.iter().map(|fallback| fallback.resolve(&route, prices));
        Self {
            fallbacks: fallbacks.collect(),
            route,
            system: context.system.clone(),
            settings: context.settings(),
            initial_mode: context.default_mode.clone(),
            client_tools: merge_client_tools(&agent.client_tools, &context.client_tools),
            remote_tools: defaults.remote_tools.clone(),
            tool_choice: context.tool_choice_name.clone(),
            collection: context.collection.clone(),
            embedding_model: context.embedding_model.clone(),
            dimensions: context.dimensions,
            chain: context.chain.unwrap_or(chain),
            tools_on_continuation: context.tools_on_continuation,
            store_raw_payloads: context.store_raw_payloads,
            tool_deadline: Duration::from_secs(context.tool_deadline_seconds.into()),
            max_rounds: context.max_rounds,
            prompt_limits: context.prompt_limits,
            history_summary: context.history_summary,
            allowed_tools: None,
            tools: merge_names(&agent.tools, &context.tools),
            tool_warnings: Vec::new(),
            deprecations: deprecations(agent, context),
        }
    }
}

impl ResolvedContext {
    /// Returns the models that the context names: its own, then its fallbacks.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.route).chain(&self.fallbacks).map(|route| route.model.as_str())
    }

    /// Returns the same settings with `model` as the primary route and the others as its fallbacks, or `None` if the
    /// context doesn't name that model.
    #[must_use]
    pub fn with_primary_model(mut self, model: &str) -> Option<Self> {
        let index = self.models().position(|named| named == model)?;
        self.fallbacks.insert(0, self.route);
        self.route = self.fallbacks.remove(index);
        Some(self)
    }
}

/// Returns a warning for each context that is deprecated.
fn deprecations(agent: &AgentContext, conversation: &ConversationContext) -> Vec<String> {
    let named = [
        ("agent", &agent.name, &agent.deprecated),
        ("conversation context", &conversation.name, &conversation.deprecated),
    ];
    let warnings = named
        .into_iter()
        .filter_map(|(kind, name, text)| text.as_ref().map(|text| deprecation_warning(kind, name, text)));
    warnings.collect()
}

/// Returns the warning about a deprecated document. `text` names the replacement.
#[must_use]
pub fn deprecation_warning(kind: &str, name: &str, text: &str) -> String {
    format!("The {kind} {name:?} is deprecated: {text}")
}

/// Returns the agent's names, then those of the conversation that the agent doesn't have.
fn merge_names(agents: &[String], conversations: &[String]) -> Vec<String> {
    let is_new = |name: &&String| !agents.contains(name);
    agents.iter().chain(conversations.iter().filter(is_new)).cloned().collect()
}

/// Returns the agent's tools, then the conversation's tools whose names the agent doesn't use.
fn merge_client_tools(agents: &[Definition], conversations: &[Definition]) -> Vec<Definition> {
    let is_new = |tool: &&Definition| agents.iter().all(|own| own.name != tool.name);
    agents.iter().chain(conversations.iter().filter(is_new)).cloned().collect()
}
