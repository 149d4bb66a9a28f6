//! `POST …/turns/{TurnId}/cancel`: ends an open turn, and answers with what the turn came to.

use axum::extract::State;
use runtime::{Correlation, Identified, Reply, path::OfTurn};

use service::app::{App, refused};

pub(crate) async fn cancel_turn(
    State(app): State<App>,
    Identified(caller): Identified,
    Correlation(_correlation): Correlation,
    OfTurn(session, turn): OfTurn,
) -> Result<Reply, Reply> {
    app.turns.cancel(&caller, session.clone(), turn.clone()).await.map_err(refused)?;
    app.reader.turn_summary(&caller, session, turn).await.map(Reply::ok).map_err(refused)
}
