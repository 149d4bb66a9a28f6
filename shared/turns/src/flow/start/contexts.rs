//! The contexts of a session, and the settings that they result in.

use agent::context::{AgentContext, ContextId, Defaults, ResolvedContext, Rollout};
use contracts::id::{AgentContextId, ConversationContextId, OrgId, SessionId};
use futures::future::try_join;
use protocol::{id::SessionKey, session::Contexts};

use crate::{
    ports::{AgentDeps, LiveContext, Reads},
    refusal::Refusal,
};

/// Resolves the contexts of a new session. If the request names no conversation context, the agent's default
/// applies. They are fixed from then on, even if the agent changes.
pub(super) async fn first_contexts(
    store: &impl Reads,
    SessionKey { org, session }: &SessionKey,
    named: &Contexts,
    defaults: &Defaults,
) -> Result<Contexts, Refusal> {
    let mut contexts = without_built_in(store, org, named).await?;
    if let (Some(id), None) = (&contexts.agent, &named.conversation) {
        let agent = named_agent(store, org, id, session, defaults).await?;
        contexts.conversation = agent.default_conversation_context_id;
    }
    Ok(contexts)
}

/// Returns the version of a rollout that a session is part of.
fn share(rollout: Option<Rollout>, context: &str, session: &SessionId) -> Option<u32> {
    let rollout = rollout.filter(|rollout| rollout.includes(context, session.as_str()));
    rollout.map(|rollout| rollout.version)
}

/// Returns the org's agent with this id, as a session has it, else the built-in one.
async fn named_agent(
    store: &impl Reads,
    org: &OrgId,
    id: &AgentContextId,
    session: &SessionId,
    defaults: &Defaults,
) -> Result<AgentContext, Refusal> {
    match store.agent_context(org, id).await? {
        Some(LiveContext { content, rollout }) => match share(rollout, id.as_str(), session) {
            // Boxed: few turns are part of a rollout, and this future would enlarge that of every turn.
            Some(version) => Ok(Box::pin(store.agent_version(org, id, version)).await?.unwrap_or(content)),
            None => Ok(content),
        },
        None => defaults
            .named_agent(id)
            .cloned()
            .ok_or_else(|| Refusal::context_not_found(&ContextId::Agent(id.clone()))),
    }
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

fn pinned<T>(version: u32, found: Option<T>) -> Result<T, Refusal> {
    found.ok_or_else(|| Refusal::context_version_not_found(version.to_string()))
}

/// Resolves the effective settings of these contexts.
pub(super) async fn effective_settings(
    deps: &impl AgentDeps,
    SessionKey { org, session }: &SessionKey,
    contexts: &Contexts,
) -> Result<ResolvedContext, Refusal> {
    let (store, config) = (deps.store(), deps.config());
    let agent = contexts.agent.as_ref().map_or("default", AgentContextId::as_str);
    tracing::Span::current().record("gen_ai.agent.id", agent);
    let agent = async {
        let Some(id) = &contexts.agent else { return Ok(None) };
        match contexts.pins.agent {
            // Boxed: few sessions are pinned.
            Some(version) => {
                let found = Box::pin(store.agent_version(org, id, version)).await?;
                pinned(version, found).map(Some)
            }
            None => named_agent(store, org, id, session, &config.defaults).await.map(Some),
        }
    };
    let conversation = async {
        let Some(id) = &contexts.conversation else { return Ok(None) };
        if let Some(version) = contexts.pins.conversation {
            let found = Box::pin(store.conversation_version(org, id, version)).await?;
            return pinned(version, found).map(Some);
        }
        let found = store.conversation_context(org, id).await?;
        let LiveContext { content, rollout } =
            found.ok_or_else(|| Refusal::context_not_found(&ContextId::Conversation(id.clone())))?;
        let Some(version) = share(rollout, id.as_str(), session) else { return Ok(Some(content)) };
        let found = Box::pin(store.conversation_version(org, id, version)).await?;
        Ok(Some(found.unwrap_or(content)))
    };
    let (agent, conversation) = try_join(agent, conversation).await?;
    Ok(ResolvedContext::resolve(
        agent.as_ref(),
        conversation.as_ref(),
        &config.defaults,
        (&config.model, config.conversation_state),
    ))
}
