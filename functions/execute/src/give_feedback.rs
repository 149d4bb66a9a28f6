//! `PUT …/turns/{TurnId}/feedback`: what the caller says of a turn.

use axum::extract::State;
use contracts::request::FeedbackRequest;
use runtime::{Identified, Reply, path::OfTurn, request_body::JsonBody};
use service::app::{App, refused};

pub(crate) async fn give_feedback(
    State(app): State<App>,
    Identified(caller): Identified,
    OfTurn(session, turn): OfTurn,
    JsonBody(asked): JsonBody<FeedbackRequest>,
) -> Result<Reply, Reply> {
    app.turns.give_feedback(&caller, session, turn, asked).await.map(Reply::ok).map_err(refused)
}
