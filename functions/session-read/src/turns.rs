//! `GET …/turns`, `…/turns/last`, `…/turns/{TurnId}` and `…/turns/{TurnId}/summary` (DD-003).

use axum::extract::State;
use runtime::{
    Identified, Reply,
    path::{OfSession, OfTurn},
};

use crate::{
    app::{App, refused},
    parameters::{LastQuery, TurnsQuery},
};

pub(crate) async fn list(
    State(app): State<App>,
    Identified(caller): Identified,
    OfSession(session): OfSession,
    TurnsQuery(wanted, page): TurnsQuery,
) -> Result<Reply, Reply> {
    let place = app.place(&caller, &page)?;
    let turns = app.reader.turns(&caller, session, &wanted, page.size, place.as_deref()).await;
    let mut turns = turns.map_err(refused)?;
    app.seal(&caller, &page.list, &mut turns.continuation_token);
    Ok(Reply::ok(turns))
}

pub(crate) async fn last(
    State(app): State<App>,
    Identified(caller): Identified,
    OfSession(session): OfSession,
    LastQuery(status): LastQuery,
) -> Result<Reply, Reply> {
    app.reader.last_turn(&caller, session, status).await.map(Reply::ok).map_err(refused)
}

pub(crate) async fn turn(
    State(app): State<App>,
    Identified(caller): Identified,
    OfTurn(session, turn): OfTurn,
) -> Result<Reply, Reply> {
    app.reader.turn(&caller, session, turn).await.map(Reply::ok).map_err(refused)
}

pub(crate) async fn summary(
    State(app): State<App>,
    Identified(caller): Identified,
    OfTurn(session, turn): OfTurn,
) -> Result<Reply, Reply> {
    app.reader.turn_summary(&caller, session, turn).await.map(Reply::ok).map_err(refused)
}
