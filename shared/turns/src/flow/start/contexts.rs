//! The contexts of a session, and the settings that they result in.

use agent::context::{AgentContext, Defaults, ResolvedContext};
use contracts::id::{AgentContextId, ConversationContextId, OrgId};
use futures::future::try_join;
use protocol::session::Contexts;

use crate::{
    ports::{AgentDeps, Reads},
    refusal::Refusal,
};

/// Resolves the contexts of a new session. If the request names no conversation context, the agent's default
/// applies. They are fixed from then on, even if the agent changes.
pub(super) async fn first_contexts(
    store: &impl Reads,
    org: &OrgId,
    named: &Contexts,
    defaults: &Defaults,
) -> Result<Contexts, Refusal> {
    let mut contexts = without_built_in(store, org, named).await?;
    if let (Some(id), None) = (&contexts.agent, &named.conversation) {
        let agent = named_agent(store, org, id, defaults).await?;
        contexts.conversation = agent.default_conversation_context_id;
    }
    Ok(contexts)
}

/// Returns the org's agent with this id, else the built-in one.
async fn named_agent(
    store: &impl Reads,
    org: &OrgId,
    id: &AgentContextId,
    defaults: &Defaults,
) -> Result<AgentContext, Refusal> {
    let agent = store.agent_context(org, id).await?;
    agent
        .or_else(|| defaults.named_agent(id).cloned())
        .ok_or_else(|| Refusal::AgentContextNotFound(id.clone()))
}

/// Removes the ids of the built-in contexts, unless the org has created contexts of its own under these ids.
async fn without_built_in(store: &impl Reads, org: &OrgId, named: &Contexts) -> Result<Contexts, Refusal> {
    let mut contexts = named.clone();
    if let Some(id) = named.agent.as_ref().filter(|id| **id == AgentContextId::built_in())
        && store.agent_context(org, id).await?.is_none()
    {
        contexts.agent = None;
    }
    if let Some(id) = named.conversation.as_ref().filter(|id| **id == ConversationContextId::built_in())
        && store.conversation_context(org, id).await?.is_none()
    {
        contexts.conversation = None;
    }
    Ok(contexts)
}

/// Resolves the effective settings of these contexts.
pub(super) async fn effective_settings(
    deps: &impl AgentDeps,
    org: &OrgId,
    contexts: &Contexts,
) -> Result<ResolvedContext, Refusal> {
    let (store, config) = (deps.store(), deps.config());
    let agent = contexts.agent.as_ref().map_or("default", AgentContextId::as_str);
    tracing::Span::current().record("gen_ai.agent.id", agent);
    let agent = async {
        let Some(id) = &contexts.agent else { return Ok(None) };
        named_agent(store, org, id, &config.defaults).await.map(Some)
    };
    let conversation = async {
        let Some(id) = &contexts.conversation else { return Ok(None) };
        let found = store.conversation_context(org, id).await?;
        found.map(Some).ok_or_else(|| Refusal::ConversationContextNotFound(id.clone()))
    };
    let (agent, conversation) = try_join(agent, conversation).await?;
    Ok(ResolvedContext::resolve(
        agent.as_ref(),
        conversation.as_ref(),
        &config.defaults,
        (&config.model, config.conversation_state),
    ))
}
