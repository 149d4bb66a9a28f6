//! `GET /api/ai/agent/sessions`, `GET /api/ai/agent/sessions/{SessionId}` and its mode history (DD-003).

use axum::extract::State;
use runtime::{Identified, Reply, path::OfSession};
use serde::Serialize;
use turns::flow::Told;

use crate::{
    app::{App, refused},
    parameters::{Continue, ListQuery, PageQuery},
};

pub(crate) async fn list(
    State(app): State<App>,
    Identified(caller): Identified,
    query: ListQuery,
) -> Result<Reply, Reply> {
    let page = app.reader.sessions(&caller, query.user.as_ref(), query.page_size, query.token).await;
    page.map(told).map_err(refused)
}

pub(crate) async fn session(
    State(app): State<App>,
    Identified(caller): Identified,
    OfSession(session): OfSession,
    Continue(token): Continue,
) -> Result<Reply, Reply> {
    app.reader.session(&caller, session, token.as_deref()).await.map(told).map_err(refused)
}

pub(crate) async fn mode_history(
    State(app): State<App>,
    Identified(caller): Identified,
    OfSession(session): OfSession,
    PageQuery { page_size, token }: PageQuery,
) -> Result<Reply, Reply> {
    let page = app.reader.mode_history(&caller, session, page_size, token.as_deref()).await;
    page.map(Reply::ok).map_err(refused)
}

fn told<T: Serialize>(told: Told<T>) -> Reply {
    Reply::warned(told.result, told.warnings)
}
