//! `POST …/turns/{TurnId}/cancel`: ends an open turn, and answers with what the turn came to.

use axum::extract::State;
use runtime::{Correlation, Identified, Reply, api::TimeLeft, path::OfTurn};
use service::app::{App, Invocation, refused};

pub(crate) async fn cancel_turn(
    State(app): State<App>,
    Identified(caller): Identified,
    Correlation(correlation): Correlation,
    OfTurn(session, turn): OfTurn,
    TimeLeft(budget): TimeLeft,
) -> Result<Reply, Reply> {
    let invocation = Invocation { budget, correlation: Some(correlation) };
    let cancelled = app.turns.cancel(&caller, session.clone(), turn.clone(), &invocation).await;
    let warning = cancelled.map_err(refused)?.warning();
    let summary = app.reader.turn_summary(&caller, session, turn).await.map_err(refused)?;
    Ok(Reply::warned(summary, warning))
}
