//! `GET /api/ai/agent/sessions`, `…/search`, `…/sessions/{SessionId}`, and its mode history and purge report.

use axum::extract::State;
use contracts::paths;
use runtime::{AuthenticatedCaller, CachePolicy, IfNoneMatch, Reply, path::SessionPath, query::ListScope};
use serde::Serialize;
use turns::flow::{TurnsPage, WithWarnings};

use crate::{
    app::{App, error_reply},
    parameters::{PageQuery, SearchQuery, SessionQuery, SessionsQuery},
};

pub(crate) async fn list(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    SessionsQuery(wanted, page): SessionsQuery,
) -> Result<Reply, Reply> {
    let position = app.open_page_token(&caller, &page)?;
    let mut sessions =
        app.reader.sessions(&caller, &wanted, page.size, position).await.map_err(error_reply)?;
    app.seal_page_token(&caller, &page.list, &mut sessions.result.continuation_token);
    Ok(with_warnings(sessions))
}

pub(crate) async fn search(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    SearchQuery(words, wanted, page): SearchQuery,
) -> Result<Reply, Reply> {
    let position = app.open_page_token(&caller, &page)?;
    let results =
        app.reader.search(&caller, &words, &wanted, page.size, position.as_deref(), &app.index).await;
    let mut results = results.map_err(error_reply)?;
    app.seal_page_token(&caller, &page.list, &mut results.result.continuation_token);
    Ok(with_warnings(results))
}

pub(crate) async fn session(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    SessionPath(session): SessionPath,
    SessionQuery(order, page): SessionQuery,
    if_none_match: IfNoneMatch,
) -> Result<Reply, Reply> {
    let modes = ListScope::unfiltered(&paths::MODE_HISTORY.fill(&session));
    let position = app.open_page_token(&caller, &page)?;
    let turns = TurnsPage { order, size: page.size, token: position.as_deref() };
    let mut detail = app.reader.session(&caller, session, turns).await.map_err(error_reply)?;
    app.seal_page_token(&caller, &page.list, &mut detail.result.continuation_token);
    app.seal_page_token(&caller, &modes, &mut detail.result.mode_history_continuation_token);
    Ok(with_warnings(detail).with_cache_headers(CachePolicy::Revalidate, &if_none_match))
}

pub(crate) async fn mode_history(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    SessionPath(session): SessionPath,
    PageQuery(page): PageQuery,
) -> Result<Reply, Reply> {
    let position = app.open_page_token(&caller, &page)?;
    let modes = app.reader.mode_history(&caller, session, page.size, position.as_deref()).await;
    let mut modes = modes.map_err(error_reply)?;
    app.seal_page_token(&caller, &page.list, &mut modes.continuation_token);
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
