//! Rollouts: every turn of a session runs under the version of its contexts that the rollout chooses for the session.

use agent::context::{AgentContext, ContextId, ConversationContext, Rollout};
use contracts::id::{ConversationContextId, OrgId, SessionId};
use protocol::{id::SessionKey, session::Session};
use turns::ports::DocumentHead;

use super::{RunRecord, Violation, violation};
use crate::{build::MODEL, ledger::Event, memory::Contents};

pub(super) fn check(record: &RunRecord<'_>, violations: &mut Vec<Violation>) {
    for entry in record.entries {
        match &entry.event {
            Event::ModelCalled { turn, sent, .. } => {
                let Some(id) = conversation_of(record.table, &turn.session) else { continue };
                let Some(context) = conversation(record.table, &turn.session, &id) else { continue };
                let fallbacks = context.fallbacks.iter().map(|fallback| &fallback.model_name);
                let mut models = [&context.model_name].into_iter().chain(fallbacks);
                if !models.any(|model| model.as_deref().unwrap_or(MODEL) == sent.model) {
                    let what = format!("{} called {}, another version's model", turn.turn, sent.model);
                    violations.push(violation("rollout", what));
                }
            }
            Event::Session { before: None, after } => check_default(record.table, after, violations),
            _ => {}
        }
    }
}

/// Returns the conversation context of a session, unless it was purged.
fn conversation_of(table: &Contents, session: &SessionKey) -> Option<ConversationContextId> {
    table.sessions.get(session)?.contexts.conversation.clone()
}

/// Returns the content of a conversation context for a session. None without a rollout: an edit ends it, and then
/// earlier turns ran under a content that is no longer stored.
fn conversation(
    table: &Contents,
    SessionKey { org, session }: &SessionKey,
    id: &ConversationContextId,
) -> Option<ConversationContext> {
    let id = ContextId::Conversation(id.clone());
    let DocumentHead { content, rollout, .. } = table.documents.get(&(org.clone(), id.clone().into()))?;
    match version((*rollout)?, id.as_str(), session) {
        Some(version) => serde_json::from_str(content_of(table, org, id, version)?).ok(),
        None => serde_json::from_str(content.as_ref()?).ok(),
    }
}

fn content_of<'a>(table: &'a Contents, org: &OrgId, id: ContextId, version: u32) -> Option<&'a str> {
    table.versions.get(&(org.clone(), id, version))?.content.as_deref()
}

fn version(rollout: Rollout, context: &str, session: &SessionId) -> Option<u32> {
    rollout.includes(context, session.as_str()).then_some(rollout.version)
}

/// Checks that a new session outside a rollout doesn't have the default conversation of the version that is rolled out.
fn check_default(table: &Contents, session: &Session, violations: &mut Vec<Violation>) {
    let Some(agent) = &session.contexts.agent else { return };
    let (org, id) = (&session.key.org, ContextId::Agent(agent.clone()));
    let head = table.documents.get(&(org.clone(), id.clone().into()));
    let Some(DocumentHead { rollout: Some(rollout), .. }) = head else { return };
    let rolled_out = content_of(table, org, id, rollout.version);
    let rolled_out = rolled_out.and_then(|content| serde_json::from_str::<AgentContext>(content).ok());
    let default = rolled_out.and_then(|agent| agent.default_conversation_context_id);
    let is_outside = version(*rollout, agent.as_str(), &session.key.session).is_none();
    if is_outside && default.is_some() && default == session.contexts.conversation {
        let what = format!("{} began with another version's default", session.key.session);
        violations.push(violation("rollout", what));
    }
}
