//! Reads of documents by operators and agent editors: `GET …/agents`, `…/agents/{ContextId}` and its versions, and the
//! same of conversation contexts and modes. Operators alone read budgets and org settings.

use agent::context::ContextKind;
use axum::{Extension, Router, extract::State};
use contracts::operations;
use protocol::Caller;
use runtime::{
    AuthenticatedCaller, CachePolicy, IfNoneMatch, OperationRoutes, Reply,
    query::{ListScope, Query},
};
use service::handlers::{NamedContext, for_each_kind};
use turns::{
    flow::{list_contexts, read_document, read_version, read_versions},
    ports::DocumentId,
};

use crate::{
    app::{App, error_reply},
    parameters::Page,
};

/// Returns the routes of all documents.
pub(crate) fn routes() -> Router<App> {
    let router = Router::new()
        .serve(&operations::READ_BUDGETS, budgets)
        .serve(&operations::READ_ORG_SETTINGS, org_settings);
    for_each_kind(router, |operations| {
        Router::new()
            .serve(&operations.list, list)
            .serve(&operations.read, context)
            .serve(&operations.versions, versions)
            .serve(&operations.version, version)
    })
}

async fn budgets(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    if_none_match: IfNoneMatch,
) -> Result<Reply, Reply> {
    read(&app, &caller, &DocumentId::Budgets, &if_none_match).await
}

async fn org_settings(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    if_none_match: IfNoneMatch,
) -> Result<Reply, Reply> {
    read(&app, &caller, &DocumentId::OrgSettings, &if_none_match).await
}

async fn context(
    State(app): State<App>,
    NamedContext { caller, id, .. }: NamedContext,
    if_none_match: IfNoneMatch,
) -> Result<Reply, Reply> {
    read(&app, &caller, &id.into(), &if_none_match).await
}

async fn read(
    app: &App,
    caller: &Caller,
    id: &DocumentId,
    if_none_match: &IfNoneMatch,
) -> Result<Reply, Reply> {
    let document = read_document(&app.documents, caller, id).await.map_err(error_reply)?;
    let tag = document.etag().map(str::to_owned);
    let reply = Reply::ok(document);
    Ok(match tag {
        Some(tag) => reply.with_entity_tag(&tag, CachePolicy::Revalidate, if_none_match),
        None => reply.with_cache_headers(CachePolicy::Revalidate, if_none_match),
    })
}

async fn list(
    State(app): State<App>,
    Extension(kind): Extension<ContextKind>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    list: ListScope,
    Query(page): Query<Page>,
) -> Result<Reply, Reply> {
    let position = app.open_page_token(&caller, &list, &page)?;
    let contexts = list_contexts(&app.documents, &caller, kind, page.size(), position.as_deref()).await;
    let mut contexts = contexts.map_err(error_reply)?;
    app.seal_page_token(&caller, &list, &mut contexts.continuation_token);
    Ok(Reply::ok(contexts))
}

async fn versions(
    State(app): State<App>,
    NamedContext { caller, id, .. }: NamedContext,
    list: ListScope,
    Query(page): Query<Page>,
) -> Result<Reply, Reply> {
    let position = app.open_page_token(&caller, &list, &page)?;
    let versions = read_versions(&app.documents, &caller, id, page.size(), position.as_deref()).await;
    let mut versions = versions.map_err(error_reply)?;
    app.seal_page_token(&caller, &list, &mut versions.continuation_token);
    Ok(Reply::ok(versions))
}

async fn version(
    State(app): State<App>,
    NamedContext { caller, id, version }: NamedContext,
) -> Result<Reply, Reply> {
    let version = read_version(&app.documents, &caller, &id, &version).await;
    version.map(Reply::ok).map_err(error_reply)
}
