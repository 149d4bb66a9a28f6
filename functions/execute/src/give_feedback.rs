//! `PUT …/turns/{TurnId}/feedback`: submits the caller's feedback on a turn.

use axum::extract::State;
use contracts::request::FeedbackRequest;
use runtime::{AuthenticatedCaller, Reply, path::TurnPath, request_body::JsonBody};
use service::app::{App, error_reply, submit_feedback};

pub(crate) async fn give_feedback(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    TurnPath(session, turn): TurnPath,
    JsonBody(request): JsonBody<FeedbackRequest>,
) -> Result<Reply, Reply> {
    let stored = submit_feedback(&app.adapters, &caller, session, turn, request).await;
    stored.map(Reply::ok).map_err(error_reply)
}
