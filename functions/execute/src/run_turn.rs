//! `POST /api/ai/agent/execute`: runs a user turn, or resumes a turn with the results of its client tools.

use axum::{extract::State, response::Response};
use runtime::{
    AuthenticatedCaller, Correlation, Reply, api::RemainingTime, last_event::LastEventId,
    request_body::ExecuteBody,
};

use service::{
    app::App,
    respond::{TurnRequest, respond},
};

pub(crate) async fn run_turn(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Correlation(correlation): Correlation,
    RemainingTime(budget): RemainingTime,
    LastEventId(last_event_id): LastEventId,
    ExecuteBody(request): ExecuteBody,
) -> Result<Response, Reply> {
    respond(&app, caller, correlation, TurnRequest::Execute(request), last_event_id, budget).await
}
