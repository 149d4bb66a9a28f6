//! What a turn uses, once its session's contexts and the defaults are put together.

use std::time::Duration;

use protocol::chain::ChainPolicy;

use super::{AgentContext, Budgets, ConversationContext, Defaults, Route, ToolsOnContinuation};
use crate::{settings::Settings, tool::Definition};

/// The settings of one turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Effective {
    /// Which model of which provider is asked, and what its tokens cost.
    pub route: Route,
    /// Who is asked in its place, in this order.
    pub fallbacks: Vec<Route>,
    /// The base system prompt (AGN-003 §4.1).
    pub system: String,
    /// How the model is asked.
    pub settings: Settings,
    /// The mode that the context wants a new session to start in, for
    /// [`Catalog::first_mode`](crate::mode::Catalog::first_mode).
    pub first_mode: Option<String>,
    /// The tools that the client runs: the agent's, then the conversation's (AGN-011 §4.3).
    pub client_tools: Vec<Definition>,
    /// A tool that the turn's first model call must use, if the turn has it (AGN-003 §6.2).
    pub tool_choice: Option<String>,
    /// The vector collection that is searched; none: the configured one.
    pub collection: Option<String>,
    /// The model that made its vectors; none: the configured one.
    pub embedding_model: Option<String>,
    /// How long its vectors are; none: the configured model's, or the named one's own.
    pub dimensions: Option<u32>,
    /// Who remembers the conversation.
    pub chain: ChainPolicy,
    /// Whether chained requests carry the tools.
    pub tools_on_continuation: ToolsOnContinuation,
    /// Whether the provider's raw requests and responses are kept.
    pub store_raw_payloads: bool,
    /// How long the turn waits for the client's tool results.
    pub tool_deadline: Duration,
    /// How many rounds of server tools the turn may take.
    pub max_rounds: u32,
    /// How much of each kind of material a request may carry.
    pub budgets: Budgets,
    /// Whether the model sums up earlier turns that are left out.
    pub history_summary: bool,
}

impl Effective {
    /// Puts a turn's settings together.
    ///
    /// A context that the session has stands as a whole: the default of its kind fills no gaps in it,
    /// so that what an operator wrote is what runs. Only the model's name and who remembers conversations come
    /// from the configuration.
    #[must_use]
    pub fn resolve(
        agent: Option<&AgentContext>,
        conversation: Option<&ConversationContext>,
        defaults: &Defaults,
        configured: (&str, ChainPolicy),
    ) -> Self {
        let (model, chain) = configured;
        let agent = agent.unwrap_or(&defaults.agent);
        let context = conversation.unwrap_or(&defaults.conversation);
        let route = Route {
            provider: context.provider.clone(),
            model: context.model_name.as_deref().unwrap_or(model).to_owned(),
            prices: context.prices.clone(),
        };
        Self {
            fallbacks: context.fallbacks.iter().map(|fallback| fallback.after(&route)).collect(),
            route,
            system: context.system.clone(),
            settings: context.settings(),
            first_mode: context.default_mode.clone(),
            client_tools: merged(&agent.client_tools, &context.client_tools),
            tool_choice: context.tool_choice_name.clone(),
            collection: context.collection.clone(),
            embedding_model: context.embedding_model.clone(),
            dimensions: context.dimensions,
            chain: context.chain.unwrap_or(chain),
            tools_on_continuation: context.tools_on_continuation,
            store_raw_payloads: context.store_raw_payloads,
            tool_deadline: Duration::from_secs(context.tool_deadline_seconds.into()),
            max_rounds: context.max_rounds,
            budgets: context.budgets,
            history_summary: context.history_summary,
        }
    }
}

impl Effective {
    /// The models that the context names: its own, then those that are asked in its place.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.route).chain(&self.fallbacks).map(|route| route.model.as_str())
    }

    /// The same, with this one of its models asked first, and the others in its place; none where it names no such
    /// model.
    #[must_use]
    pub fn answered_by(mut self, model: &str) -> Option<Self> {
        let place = self.models().position(|named| named == model)?;
        self.fallbacks.insert(0, self.route);
        self.route = self.fallbacks.remove(place);
        Some(self)
    }
}

/// The agent's tools, then those of the conversation that the agent does not bring itself.
fn merged(agents: &[Definition], conversations: &[Definition]) -> Vec<Definition> {
    let new = |tool: &&Definition| agents.iter().all(|known| known.name != tool.name);
    agents.iter().chain(conversations.iter().filter(new)).cloned().collect()
}
