//! Reads the contexts of an org with their versions, for those who may edit them, and the names of contexts for everybody.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
};

use agent::{
    context::{self, ContextId, ContextKind, Defaults, Document, built_in_agent_name},
    fault::Faults,
    mode,
};
use contracts::{
    error::causes,
    id::{AgentContextId, ConversationContextId},
    invoke_result::Warning,
    read::{Context, ContextVersion, ListResponse},
};
use futures::{StreamExt, future::join, stream};
use protocol::{Caller, session::Contexts};

use crate::{
    context_view,
    flow::{
        access,
        read::session_reader::{MAX_CONCURRENT_READS, WithWarnings},
    },
    ports::{ContextReads, Reads, Unavailable},
    refusal::Refusal,
    view::Names,
};

/// Reads contexts.
#[derive(Debug, Clone)]
pub struct ContextReader<S> {
    store: S,
}

impl<S: ContextReads> ContextReader<S> {
    /// Creates a reader.
    #[must_use]
    pub fn new(store: S) -> Self {
        Self { store }
    }

    /// Lists the contexts of a kind, sorted by id. The built-in ones that the org has not replaced come last.
    ///
    /// # Errors
    /// If the caller may not edit contexts, or the token isn't from this list.
    pub async fn list(
        &self,
        caller: &Caller,
        kind: ContextKind,
        page_size: u32,
        token: Option<&str>,
    ) -> Result<ListResponse<Context>, Refusal> {
        access::require_context_editor(caller)?;
        let after = token.map(|token| kind.id(token)).transpose();
        let after = after.map_err(|_| Refusal::invalid_continuation_token())?;
        let limit = usize::try_from(page_size).unwrap_or(usize::MAX);
        // One item more than the page shows if another page follows.
        let found = self.store.context_heads(&caller.org, kind, after.as_ref(), limit.saturating_add(1));
        let mut found = found.await?;
        let more = found.len() > limit;
        found.truncate(limit);
        let next = found.last().filter(|_| more).map(|(id, _)| id.as_str().to_owned());
        let own = found.iter().map(|(id, head)| context_view::context(id, head, false));
        let mut items = own.collect::<Result<Vec<_>, _>>()?;
        if next.is_none() {
            for document in built_in(kind)? {
                if self.head_of(caller, &document.context_id()).await?.is_none() {
                    items.push(context_view::built_in(&document, false)?);
                }
            }
        }
        Ok(ListResponse::new(items, page_size, next))
    }

    /// Reads a context with its content: the org's, or else the built-in one.
    ///
    /// # Errors
    /// If the caller may not edit contexts, or there is no such context.
    pub async fn read(&self, caller: &Caller, id: &ContextId) -> Result<Context, Refusal> {
        access::require_context_editor(caller)?;
        if let Some(context) = self.head_of(caller, id).await? {
            return Ok(context);
        }
        let document = built_in(id.kind())?.into_iter().find(|document| document.context_id() == *id);
        Ok(context_view::built_in(&document.ok_or_else(|| Refusal::context_not_found(id))?, true)?)
    }

    /// Lists the versions of a context, newest first. Those of a deleted one stay.
    ///
    /// # Errors
    /// If the caller may not edit contexts, there is no such context, or the token isn't from this list.
    pub async fn versions(
        &self,
        caller: &Caller,
        id: &ContextId,
        page_size: u32,
        token: Option<&str>,
    ) -> Result<ListResponse<ContextVersion>, Refusal> {
        access::require_context_editor(caller)?;
        let before = token.map(str::parse).transpose().map_err(|_| Refusal::invalid_continuation_token())?;
        let limit = usize::try_from(page_size).unwrap_or(usize::MAX);
        let found = self.store.context_versions(&caller.org, id, before, limit.saturating_add(1));
        let mut found = found.await?;
        if found.is_empty() && before.is_none() {
            // A context without versions exists too: a built-in one, or one written without a version.
            self.read(caller, id).await?;
        }
        let more = found.len() > limit;
        found.truncate(limit);
        let next = found.last().filter(|_| more).map(|last| last.number.to_string());
        let items = found.iter().map(|version| context_view::version(id.kind(), version));
        Ok(ListResponse::new(items.collect::<Result<_, _>>()?, page_size, next))
    }

    /// Reads a version of a context with its content.
    ///
    /// # Errors
    /// If the caller may not edit contexts, or there is no such version.
    pub async fn version(
        &self,
        caller: &Caller,
        id: &ContextId,
        number: &str,
    ) -> Result<ContextVersion, Refusal> {
        access::require_context_editor(caller)?;
        let not_found = || Refusal::context_version_not_found(number.to_owned());
        let parsed = number.parse().map_err(|_| not_found())?;
        let found = self.store.context_version(&caller.org, id, parsed).await?.ok_or_else(not_found)?;
        Ok(context_view::version(id.kind(), &found)?)
    }

    /// Reads the org's own context. `None` if it has none, or deleted it.
    async fn head_of(&self, caller: &Caller, id: &ContextId) -> Result<Option<Context>, Refusal> {
        let head = self.store.context_head(&caller.org, id).await?;
        let head = head.filter(|head| head.content.is_some());
        Ok(head.map(|head| context_view::context(id, &head, true)).transpose()?)
    }
}

/// Returns the contexts of a kind that ship with the service.
fn built_in(kind: ContextKind) -> Result<Vec<Document>, Unavailable> {
    let unreadable = |faults: Faults| Unavailable { what: "a built-in context", source: faults.into() };
    let defaults = || context::defaults().map_err(unreadable);
    Ok(match kind {
        ContextKind::Agent => {
            let Defaults { agent, named_agents, .. } = defaults()?;
            std::iter::once(agent).chain(named_agents).map(Document::AgentContext).collect()
        }
        ContextKind::Conversation => vec![Document::ConversationContext(defaults()?.conversation)],
        ContextKind::Mode => {
            mode::built_in_modes().map_err(unreadable)?.into_iter().map(Document::Mode).collect()
        }
    })
}

/// The warning for names that can't be read.
const NAMES_MISSING: &str = "The names of some contexts could not be read; their ids are shown instead. Read again later for the names.";

/// Reads the names of these sessions' contexts. A context that is gone or can't be read gets no name, and doesn't
/// fail the list.
pub(crate) async fn load_names(
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
