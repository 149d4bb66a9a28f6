//! The names of the contexts that sessions refer to.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
};

use agent::context::built_in_agent_name;
use contracts::{
    error::causes,
    id::{AgentContextId, ConversationContextId},
    invoke_result::Warning,
};
use futures::{StreamExt, future::join, stream};
use protocol::{Caller, session::Contexts};

use crate::flow::read::{paging::MAX_CONCURRENT_READS, warnings::WithWarnings};
use crate::{
    ports::{Reads, Unavailable},
    view::Names,
};

/// The warning for names that can't be read.
const NAMES_MISSING: &str = "The names of some contexts could not be read; their ids are shown instead. Read again later for the names.";

/// Reads the names of these sessions' contexts. A context that is gone or can't be read gets no name, and doesn't
/// fail the list.
pub(crate) async fn load(
    store: &impl Reads,
    caller: &Caller,
    sessions: impl IntoIterator<Item = &Contexts>,
) -> WithWarnings<Names> {
    let org = &caller.org;
    let (mut agents, mut conversations) = (BTreeSet::new(), BTreeSet::new());
    for contexts in sessions {
        agents.extend(contexts.agent.clone());
        conversations.extend(contexts.conversation.clone());
    }
    let agents = stream::iter(agents).map(|id: AgentContextId| async move {
        let found = store.agent_context(org, &id).await;
        let built_in = built_in_agent_name(&id).map(str::to_owned);
        (id, found.map(|found| found.map(|found| found.content.name).or(built_in)))
    });
    let conversations = stream::iter(conversations).map(|id: ConversationContextId| async move {
        let found = store.conversation_context(org, &id).await;
        (id, found.map(|found| found.map(|found| found.content.name)))
    });
    let (agents, conversations) = join(
        agents.buffer_unordered(MAX_CONCURRENT_READS).collect::<Vec<_>>(),
        conversations.buffer_unordered(MAX_CONCURRENT_READS).collect::<Vec<_>>(),
    )
    .await;
    let ((agents, all_agents), (conversations, all_conversations)) =
        (split_readable(agents), split_readable(conversations));
    let warning = Warning { message: NAMES_MISSING.to_owned(), error_code: None };
    WithWarnings {
        result: Names { org: caller.org_name.clone(), agents, conversations },
        warnings: (!all_agents || !all_conversations).then_some(warning).into_iter().collect(),
    }
}

/// Splits the names that could be read from the failures. The flag is true if none failed.
fn split_readable<Id: Eq + Hash>(
    found: Vec<(Id, Result<Option<String>, Unavailable>)>,
) -> (HashMap<Id, String>, bool) {
    let all = found.iter().all(|(_, name)| name.is_ok());
    let names = found.into_iter().filter_map(|(id, name)| {
        let name = name.inspect_err(|error| {
            tracing::warn!(error = %causes(error), "{}", contracts::log::CONTEXT_NAME_UNREADABLE);
        });
        Some((id, name.ok()??))
    });
    (names.collect(), all)
}
