//! What turns are made of besides the request: modes, tools and contexts.

use contracts::id::OrgId;
use futures::future::try_join;

use super::Executor;
use crate::ports::{Announcements, Payloads, Store, World};
use crate::refusal::Refusal;
use agent::{
    context::{Defaults, Effective, ToolsOnContinuation},
    mode::Catalog,
    model::Model,
    progress::Plan,
    tool::{self, Registry},
};
use protocol::{chain::Upstream, session::Contexts};

/// Fixed for the life of a process and checked at its start.
#[derive(Debug)]
pub struct Design {
    /// The modes.
    pub catalog: Catalog,
    /// The server's tools.
    pub tools: Registry,
    /// What contexts leave open.
    pub defaults: Defaults,
    /// The model where no conversation context names one.
    pub model: String,
    /// The model provider: the host of its base URL.
    pub provider: String,
    /// Server tools that every mode has, beside `agent_change_mode`.
    pub always: Vec<String>,
}

impl Design {
    /// Who a turn with these settings goes to.
    #[must_use]
    pub fn upstream(&self, effective: &Effective) -> Upstream {
        Upstream { model: effective.model.clone(), provider: self.provider.clone(), policy: effective.chain }
    }

    /// A turn's set-up, but for what its session has latched (AGN-011 §4.3, AGN-003 §4): the base prompt first, then the mode's instructions and the
    /// catalog in the place of a per-request prompt, then the tools' usage.
    #[must_use]
    pub fn plan(&self, effective: &Effective, mode: &str) -> Plan {
        let of_mode = self.catalog.tools_of(mode).iter().chain(&self.always).map(String::as_str);
        let tool::Merged { tools, dropped } = tool::merge(&self.tools, &effective.client_tools, of_mode);
        for dropped in dropped {
            tracing::warn!(%dropped, "a tool was left out of the turn");
        }
        let scoped: Vec<String> =
            [self.catalog.instructions(mode), Some(self.catalog.block())].into_iter().flatten().collect();
        let usage = tool::usage_metadata_block(&tools);
        Plan {
            model: effective.model.clone(),
            system: effective.system.clone(),
            system_parts: [Some(scoped.join("\n\n")), usage].into_iter().flatten().collect(),
            temperature: effective.temperature,
            max_output_tokens: effective.max_output_tokens,
            active_files: Vec::new(),
            tool_choice: effective
                .tool_choice
                .clone()
                .filter(|name| tools.iter().any(|tool| tool.name == *name)),
            tools,
            tools_on_continuation: effective.tools_on_continuation == ToolsOnContinuation::Send,
            reasoning_effort: effective.reasoning_effort,
            chain: effective.chain,
            history_tokens: effective.budgets.history_tokens,
            solution: None,
            store_raw_payloads: effective.store_raw_payloads,
            prices: effective.prices.clone(),
            max_rounds: effective.max_rounds,
            tool_deadline_seconds: effective.tool_deadline.as_secs(),
        }
    }
}

impl<S: Store, P: Payloads, A: Announcements, M: Model, W: World> Executor<S, P, A, M, W> {
    /// The contexts of a new session: an agent brings a conversation context where the request names none.
    /// They are fixed from then on, whatever becomes of the agent.
    pub(super) async fn first_contexts(&self, org: &OrgId, named: &Contexts) -> Result<Contexts, Refusal> {
        let (Some(id), None) = (&named.agent, &named.conversation) else {
            return Ok(named.clone());
        };
        let agent = self.store.agent_context(org, id).await?;
        let agent = agent.ok_or_else(|| Refusal::AgentContextNotFound(id.clone()))?;
        Ok(Contexts { agent: named.agent.clone(), conversation: agent.default_conversation_context_id })
    }

    /// What a turn of a session with these contexts uses.
    pub(super) async fn effective(&self, org: &OrgId, contexts: &Contexts) -> Result<Effective, Refusal> {
        let agent = async {
            let Some(id) = &contexts.agent else { return Ok(None) };
            let found = self.store.agent_context(org, id).await?;
            found.map(Some).ok_or_else(|| Refusal::AgentContextNotFound(id.clone()))
        };
        let conversation = async {
            let Some(id) = &contexts.conversation else { return Ok(None) };
            let found = self.store.conversation_context(org, id).await?;
            found.map(Some).ok_or_else(|| Refusal::ConversationContextNotFound(id.clone()))
        };
        let (agent, conversation) = try_join(agent, conversation).await?;
        Ok(Effective::resolve(
            agent.as_ref(),
            conversation.as_ref(),
            &self.design.defaults,
            &self.design.model,
        ))
    }
}
