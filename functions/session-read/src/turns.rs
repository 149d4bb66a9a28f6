//! `GET …/turns`, `…/turns/last`, `…/turns/{TurnId}`, and its `…/summary`, `…/steps`, `…/records` and `…/feedback`.

use axum::extract::State;
use contracts::read::TurnStatus;
use runtime::{
    AuthenticatedCaller, CachePolicy, IfNoneMatch, Reply,
    path::{SessionPath, TurnPath},
    query::{ListScope, Query},
};

use crate::{
    app::{App, error_reply},
    parameters::{LastTurnQuery, Page, TurnsQuery},
};

pub(crate) async fn list(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    SessionPath(session): SessionPath,
    list: ListScope,
    Query(TurnsQuery { filter, page }): Query<TurnsQuery>,
) -> Result<Reply, Reply> {
    let position = app.open_page_token(&caller, &list, &page)?;
    let turns = app.reader.turns(&caller, session, &filter, page.size(), position.as_deref()).await;
    let mut turns = turns.map_err(error_reply)?;
    app.seal_page_token(&caller, &list, &mut turns.continuation_token);
    Ok(Reply::ok(turns))
}

pub(crate) async fn last(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    SessionPath(session): SessionPath,
    Query(LastTurnQuery { status }): Query<LastTurnQuery>,
    if_none_match: IfNoneMatch,
) -> Result<Reply, Reply> {
    let turn = app.reader.last_turn(&caller, session, status).await.map_err(error_reply)?;
    // A later turn may become the last one.
    Ok(Reply::ok(turn).with_cache_headers(CachePolicy::Revalidate, &if_none_match))
}

pub(crate) async fn turn(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    TurnPath(session, turn): TurnPath,
    if_none_match: IfNoneMatch,
) -> Result<Reply, Reply> {
    let turn = app.reader.turn(&caller, session, turn).await.map_err(error_reply)?;
    let policy = cache_policy(turn.status);
    Ok(Reply::ok(turn).with_cache_headers(policy, &if_none_match))
}

pub(crate) async fn summary(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    TurnPath(session, turn): TurnPath,
    if_none_match: IfNoneMatch,
) -> Result<Reply, Reply> {
    let summary = app.reader.turn_summary(&caller, session, turn).await.map_err(error_reply)?;
    let policy = cache_policy(summary.status);
    Ok(Reply::ok(summary).with_cache_headers(policy, &if_none_match))
}

/// Returns the cache policy of a turn. A settled turn never changes (I2), even before its session shows it.
fn cache_policy(status: TurnStatus) -> CachePolicy {
    match status {
        TurnStatus::Pending => CachePolicy::Revalidate,
        TurnStatus::Completed | TurnStatus::Failed => CachePolicy::Immutable,
    }
}

pub(crate) async fn steps(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    TurnPath(session, turn): TurnPath,
    list: ListScope,
    Query(page): Query<Page>,
) -> Result<Reply, Reply> {
    let position = app.open_page_token(&caller, &list, &page)?;
    let steps = app.reader.turn_steps(&caller, session, turn, page.size(), position.as_deref()).await;
    let mut steps = steps.map_err(error_reply)?;
    app.seal_page_token(&caller, &list, &mut steps.continuation_token);
    Ok(Reply::ok(steps))
}

pub(crate) async fn records(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    TurnPath(session, turn): TurnPath,
) -> Result<Reply, Reply> {
    app.reader.turn_records(&caller, session, turn).await.map(Reply::ok).map_err(error_reply)
}

pub(crate) async fn feedback(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    TurnPath(session, turn): TurnPath,
    list: ListScope,
    Query(page): Query<Page>,
) -> Result<Reply, Reply> {
    let position = app.open_page_token(&caller, &list, &page)?;
    let entries = app.reader.feedback(&caller, session, turn, page.size(), position.as_deref()).await;
    let mut entries = entries.map_err(error_reply)?;
    app.seal_page_token(&caller, &list, &mut entries.continuation_token);
    Ok(Reply::ok(entries))
}
