//! `POST …/turns/{TurnId}/rerun`: runs a turn again, as a new turn.

use axum::{extract::State, response::Response};
use contracts::request::RerunRequest;
use runtime::{
    AuthenticatedCaller, Correlation, Reply, api::RemainingTime, last_event::LastEventId, path::TurnPath,
    request_body::JsonBody,
};
use service::{
    app::App,
    respond::{TurnRequest, respond},
};

pub(crate) async fn rerun_turn(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Correlation(correlation): Correlation,
    RemainingTime(budget): RemainingTime,
    LastEventId(last_event_id): LastEventId,
    TurnPath(session, turn): TurnPath,
    JsonBody(request): JsonBody<RerunRequest>,
) -> Result<Response, Reply> {
    let request = TurnRequest::Rerun { session, turn, request };
    respond(&app, caller, correlation, request, last_event_id, budget).await
}
