//! `POST …/turns/{TurnId}/cancel`: ends an open turn, and answers with what the turn came to.

use axum::extract::State;
use runtime::{Identified, Reply, api::TimeLeft, path::OfTurn};
use service::app::{App, refused};
use turns::flow::Invocation;

pub(crate) async fn cancel_turn(
    State(app): State<App>,
    Identified(caller): Identified,
    OfTurn(session, turn): OfTurn,
    TimeLeft(budget): TimeLeft,
) -> Result<Reply, Reply> {
    let invocation = Invocation::lasting(budget);
    app.turns.cancel(&caller, session.clone(), turn.clone(), &invocation).await.map_err(refused)?;
    app.reader.turn_summary(&caller, session, turn).await.map(Reply::ok).map_err(refused)
}
