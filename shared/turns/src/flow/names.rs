//! Names: what the contexts of sessions are called, for readers (DD-007).

use std::collections::BTreeSet;

use contracts::id::{AgentContextId, ConversationContextId, OrgId};
use futures::{StreamExt, future::join, stream};

use crate::{
    ports::{Store, Unavailable},
    view::Names,
};
use protocol::session::Contexts;

/// How many contexts are looked up at once. A page of sessions names a handful, and the store keeps what
/// it read lately.
const AT_ONCE: usize = 8;

/// The names of these sessions' contexts. A context that is gone or can't be read has none: a list of
/// sessions is worth more than the names in it.
pub(super) async fn of(
    store: &impl Store,
    org: &OrgId,
    sessions: impl IntoIterator<Item = &Contexts>,
) -> Names {
    let (mut agents, mut conversations) = (BTreeSet::new(), BTreeSet::new());
    for contexts in sessions {
        agents.extend(contexts.agent.clone());
        conversations.extend(contexts.conversation.clone());
    }
    let agents = stream::iter(agents).map(|id: AgentContextId| async move {
        let found = known(store.agent_context(org, &id).await)?;
        Some((id, found.name))
    });
    let conversations = stream::iter(conversations).map(|id: ConversationContextId| async move {
        let found = known(store.conversation_context(org, &id).await)?;
        Some((id, found.name))
    });
    let (agents, conversations) = join(
        agents.buffer_unordered(AT_ONCE).collect::<Vec<_>>(),
        conversations.buffer_unordered(AT_ONCE).collect::<Vec<_>>(),
    )
    .await;
    Names {
        agents: agents.into_iter().flatten().collect(),
        conversations: conversations.into_iter().flatten().collect(),
    }
}

fn known<T>(found: Result<Option<T>, Unavailable>) -> Option<T> {
    found.unwrap_or_else(|error| {
        tracing::warn!(%error, source = %error.source, "a context's name could not be read");
        None
    })
}
