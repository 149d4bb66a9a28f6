//! `GET /api/ai/agent/sessions`, `…/search`, `…/sessions/{SessionId}` and its mode history (DD-003).

use axum::extract::State;
use contracts::paths;
use runtime::{Identified, IfNoneMatch, Keep, Reply, path::OfSession, query::List};
use serde::Serialize;
use turns::flow::{Told, TurnsPage};

use crate::{
    app::{App, refused},
    parameters::{PageQuery, SearchQuery, SessionQuery, SessionsQuery},
};

pub(crate) async fn list(
    State(app): State<App>,
    Identified(caller): Identified,
    SessionsQuery(wanted, page): SessionsQuery,
) -> Result<Reply, Reply> {
    let place = app.place(&caller, &page)?;
    let mut sessions = app.reader.sessions(&caller, &wanted, page.size, place).await.map_err(refused)?;
    app.seal(&caller, &page.list, &mut sessions.result.continuation_token);
    Ok(told(sessions))
}

pub(crate) async fn search(
    State(app): State<App>,
    Identified(caller): Identified,
    SearchQuery(words, wanted, page): SearchQuery,
) -> Result<Reply, Reply> {
    let place = app.place(&caller, &page)?;
    let found = app.reader.search(&caller, &words, &wanted, page.size, place.as_deref(), &app.index).await;
    let mut found = found.map_err(refused)?;
    app.seal(&caller, &page.list, &mut found.result.continuation_token);
    Ok(told(found))
}

pub(crate) async fn session(
    State(app): State<App>,
    Identified(caller): Identified,
    OfSession(session): OfSession,
    SessionQuery(order, page): SessionQuery,
    had: IfNoneMatch,
) -> Result<Reply, Reply> {
    let modes = List::whole(&paths::MODE_HISTORY.of(&session));
    let place = app.place(&caller, &page)?;
    let turns = TurnsPage { order, size: page.size, place: place.as_deref() };
    let mut found = app.reader.session(&caller, session, turns).await.map_err(refused)?;
    app.seal(&caller, &page.list, &mut found.result.continuation_token);
    app.seal(&caller, &modes, &mut found.result.mode_history_continuation_token);
    Ok(told(found).kept(Keep::UntilAsked, &had))
}

pub(crate) async fn mode_history(
    State(app): State<App>,
    Identified(caller): Identified,
    OfSession(session): OfSession,
    PageQuery(page): PageQuery,
) -> Result<Reply, Reply> {
    let place = app.place(&caller, &page)?;
    let modes = app.reader.mode_history(&caller, session, page.size, place.as_deref()).await;
    let mut modes = modes.map_err(refused)?;
    app.seal(&caller, &page.list, &mut modes.continuation_token);
    Ok(Reply::ok(modes))
}

pub(crate) async fn purge(
    State(app): State<App>,
    Identified(caller): Identified,
    OfSession(session): OfSession,
) -> Result<Reply, Reply> {
    app.reader.purge(&caller, session).await.map(Reply::ok).map_err(refused)
}

fn told<T: Serialize>(told: Told<T>) -> Reply {
    Reply::warned(told.result, told.warnings)
}
