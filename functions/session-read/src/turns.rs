//! `GET …/turns/last`, `…/turns/{TurnId}` and `…/turns/{TurnId}/summary` (DD-003).

use axum::extract::State;
use runtime::{
    Identified, Reply,
    path::{OfSession, OfTurn},
};

use crate::app::{App, refused};

pub(crate) async fn last(
    State(app): State<App>,
    Identified(caller): Identified,
    OfSession(session): OfSession,
) -> Result<Reply, Reply> {
    app.reader.last_turn(&caller, session).await.map(Reply::ok).map_err(refused)
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
