//! `GET /api/ai/agent/sessions`, `…/search`, `…/sessions/{SessionId}`, and its mode history and purge report.

use axum::extract::State;
use contracts::{paths, request::limits::MAX_PAGE_SIZE};
use runtime::{
    AuthenticatedCaller, CachePolicy, IfNoneMatch, Reply,
    path::SessionPath,
    query::{ListScope, Query},
};
use serde::Serialize;
use turns::flow::{TurnsPage, WithWarnings, session_entity_tag};

use crate::{
    app::{App, error_reply},
    parameters::{Page, SearchQuery, SessionQuery, SessionsQuery},
};

pub(crate) async fn list(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    list: ListScope,
    Query(SessionsQuery { filter, page }): Query<SessionsQuery>,
) -> Result<Reply, Reply> {
    let position = app.open_page_token(&caller, &list, &page)?;
    let mut sessions =
        app.reader.sessions(&caller, &filter, page.size(), position).await.map_err(error_reply)?;
    app.seal_page_token(&caller, &list, &mut sessions.result.continuation_token);
    Ok(with_warnings(sessions))
}

pub(crate) async fn search(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    list: ListScope,
    Query(SearchQuery { q, filter, page }): Query<SearchQuery>,
) -> Result<Reply, Reply> {
    let position = app.open_page_token(&caller, &list, &page)?;
    let results = app.reader.search(&caller, &q, &filter, page.size(), position.as_deref(), &app.index).await;
    let mut results = results.map_err(error_reply)?;
    app.seal_page_token(&caller, &list, &mut results.result.continuation_token);
    Ok(with_warnings(results))
}

pub(crate) async fn session(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    SessionPath(session): SessionPath,
    list: ListScope,
    Query(SessionQuery { order, page }): Query<SessionQuery>,
    if_none_match: IfNoneMatch,
) -> Result<Reply, Reply> {
    let modes = ListScope::unfiltered(&paths::MODE_HISTORY.fill(&session));
    let position = app.open_page_token(&caller, &list, &page)?;
    let turns = TurnsPage { order, size: page.size_or(MAX_PAGE_SIZE), token: position.as_deref() };
    let mut detail = app.reader.session(&caller, session, turns).await.map_err(error_reply)?;
    let tag = session_entity_tag(&detail);
    app.seal_page_token(&caller, &list, &mut detail.result.continuation_token);
    app.seal_page_token(&caller, &modes, &mut detail.result.mode_history_continuation_token);
    Ok(with_warnings(detail).with_entity_tag(&tag, CachePolicy::Revalidate, &if_none_match))
}

pub(crate) async fn mode_history(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    SessionPath(session): SessionPath,
    list: ListScope,
    Query(page): Query<Page>,
) -> Result<Reply, Reply> {
    let position = app.open_page_token(&caller, &list, &page)?;
    let modes = app.reader.mode_history(&caller, session, page.size(), position.as_deref()).await;
    let mut modes = modes.map_err(error_reply)?;
    app.seal_page_token(&caller, &list, &mut modes.continuation_token);
    Ok(Reply::ok(modes))
}

pub(crate) async fn purge(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    SessionPath(session): SessionPath,
) -> Result<Reply, Reply> {
    app.reader.purge(&caller, session).await.map(Reply::ok).map_err(error_reply)
}

fn with_warnings<T: Serialize>(outcome: WithWarnings<T>) -> Reply {
    Reply::ok_with_warnings(outcome.result, outcome.warnings)
}
