//! `GET …/agents`, `…/agents/{ContextId}` and its versions, and the same of conversation contexts and modes, for operators
//! and agent editors.

use agent::context::ContextKind;
use axum::{Extension, Router, extract::State};
use contracts::operations::contexts::ContextOperations;
use runtime::{
    AuthenticatedCaller, CachePolicy, IfNoneMatch, OperationRoutes, Reply,
    path::ContextPath,
    query::{ListScope, Query},
};
use turns::flow::context_id;

use crate::{
    app::{App, error_reply},
    parameters::Page,
};

/// Returns the routes of a kind of contexts.
pub(crate) fn routes(operations: &ContextOperations, kind: ContextKind) -> Router<App> {
    Router::new()
        .serve(&operations.list, list)
        .serve(&operations.read, context)
        .serve(&operations.versions, versions)
        .serve(&operations.version, version)
        .layer(Extension(kind))
}

async fn list(
    State(app): State<App>,
    Extension(kind): Extension<ContextKind>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    list: ListScope,
    Query(page): Query<Page>,
) -> Result<Reply, Reply> {
    let position = app.open_page_token(&caller, &list, &page)?;
    let contexts = app.contexts.list(&caller, kind, page.size(), position.as_deref()).await;
    let mut contexts = contexts.map_err(error_reply)?;
    app.seal_page_token(&caller, &list, &mut contexts.continuation_token);
    Ok(Reply::ok(contexts))
}

async fn context(
    State(app): State<App>,
    Extension(kind): Extension<ContextKind>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    path: ContextPath,
    if_none_match: IfNoneMatch,
) -> Result<Reply, Reply> {
    let id = context_id(&caller, kind, &path.id).map_err(error_reply)?;
    let context = app.contexts.read(&caller, &id).await.map_err(error_reply)?;
    let tag = context.etag.clone();
    let reply = Reply::ok(context);
    Ok(match tag {
        Some(tag) => reply.with_entity_tag(&tag, CachePolicy::Revalidate, &if_none_match),
        None => reply.with_cache_headers(CachePolicy::Revalidate, &if_none_match),
    })
}

async fn versions(
    State(app): State<App>,
    Extension(kind): Extension<ContextKind>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    path: ContextPath,
    list: ListScope,
    Query(page): Query<Page>,
) -> Result<Reply, Reply> {
    let id = context_id(&caller, kind, &path.id).map_err(error_reply)?;
    let position = app.open_page_token(&caller, &list, &page)?;
    let versions = app.contexts.versions(&caller, &id, page.size(), position.as_deref()).await;
    let mut versions = versions.map_err(error_reply)?;
    app.seal_page_token(&caller, &list, &mut versions.continuation_token);
    Ok(Reply::ok(versions))
}

async fn version(
    State(app): State<App>,
    Extension(kind): Extension<ContextKind>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    path: ContextPath,
) -> Result<Reply, Reply> {
    let id = context_id(&caller, kind, &path.id).map_err(error_reply)?;
    app.contexts.version(&caller, &id, &path.version).await.map(Reply::ok).map_err(error_reply)
}
