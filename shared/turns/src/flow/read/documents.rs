//! Reads the documents of an org, and the versions of contexts, for those who may edit them, and the names of contexts for
//! everybody.

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
    document_view::{self, DocumentView},
    flow::{
        access,
        read::session_reader::{MAX_CONCURRENT_READS, WithWarnings},
    },
    ports::{DocumentId, Documents, TypedDocuments, Unavailable},
    refusal::Refusal,
    view::Names,
};

/// Lists the contexts of a kind, sorted by id. The built-in ones that the org has not replaced come last.
///
/// # Errors
/// If the caller may not edit contexts, or the token isn't from this list.
pub async fn list_contexts(
    store: &impl Documents,
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
    let mut found = store.contexts(&caller.org, kind, after.as_ref(), limit.saturating_add(1)).await?;
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).map(|(id, _)| id.as_str().to_owned());
    let own = found.iter().map(|(id, head)| document_view::context(id, head, false));
    let mut items = own.collect::<Result<Vec<_>, _>>()?;
    if next.is_none() {
        for document in built_in(kind)? {
            let head = store.document(&caller.org, &document.context_id().into()).await?;
            if head.is_none_or(|head| head.content.is_none()) {
                items.push(document_view::built_in(&document, false)?);
            }
        }
    }
    Ok(ListResponse::new(items, page_size, next))
}

/// Reads a document with its content: the org's, or else the built-in context. Budgets and settings are the default before
/// the first change.
///
/// # Errors
/// If the caller may not edit the document, or there is no such context.
pub async fn read_document(
    store: &impl Documents,
    caller: &Caller,
    id: &DocumentId,
) -> Result<DocumentView, Refusal> {
    match id {
        DocumentId::Context(_) => access::require_context_editor(caller)?,
        DocumentId::Budgets | DocumentId::OrgSettings => access::require_operator(caller)?,
    }
    let head = store.document(&caller.org, id).await?;
    let head = head.filter(|head| head.content.is_some());
    if let (DocumentId::Context(id), None) = (id, &head) {
        let document = built_in(id.kind())?.into_iter().find(|document| document.context_id() == *id);
        let document = document.ok_or_else(|| Refusal::context_not_found(id))?;
        return Ok(DocumentView::Context(Box::new(document_view::built_in(&document, true)?)));
    }
    Ok(document_view::view(&caller.org, id, head.as_ref())?)
}

/// Lists the versions of a context, newest first. Those of a deleted one stay.
///
/// # Errors
/// If the caller may not edit contexts, there is no such context, or the token isn't from this list.
pub async fn read_versions(
    store: &impl Documents,
    caller: &Caller,
    id: ContextId,
    page_size: u32,
    token: Option<&str>,
) -> Result<ListResponse<ContextVersion>, Refusal> {
    access::require_context_editor(caller)?;
    let before = token.map(str::parse).transpose().map_err(|_| Refusal::invalid_continuation_token())?;
    let limit = usize::try_from(page_size).unwrap_or(usize::MAX);
    let mut found = store.context_versions(&caller.org, &id, before, limit.saturating_add(1)).await?;
    if found.is_empty() && before.is_none() {
        // A context without versions exists too: a built-in one, or one written without a version.
        read_document(store, caller, &id.clone().into()).await?;
    }
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).map(|last| last.number.to_string());
    let items = found.iter().map(|version| document_view::version(&id, version));
    Ok(ListResponse::new(items.collect::<Result<_, _>>()?, page_size, next))
}

/// Reads a version of a context with its content.
///
/// # Errors
/// If the caller may not edit contexts, or there is no such version.
pub async fn read_version(
    store: &impl Documents,
    caller: &Caller,
    id: &ContextId,
    number: &str,
) -> Result<ContextVersion, Refusal> {
    access::require_context_editor(caller)?;
    let not_found = || Refusal::context_version_not_found(number.to_owned());
    let parsed = number.parse().map_err(|_| not_found())?;
    let found = store.context_version(&caller.org, id, parsed).await?.ok_or_else(not_found)?;
    Ok(document_view::version(id, &found)?)
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
        ContextKind::Connection | ContextKind::Webhook => Vec::new(),
    })
}

/// The warning for names that can't be read.
const NAMES_MISSING: &str = "The names of some contexts could not be read; their ids are shown instead. Read again later for the names.";

/// Reads the names of these sessions' contexts. A context that is gone or can't be read gets no name, and doesn't
/// fail the list.
pub(crate) async fn load_names(
    store: &impl Documents,
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
