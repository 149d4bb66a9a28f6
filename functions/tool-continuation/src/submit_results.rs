//! `POST /api/ai/agent/tool-results`: resumes a turn with the results of its client tools.

use axum::{extract::State, response::Response};
use contracts::ToolContinuation;
use runtime::{
    AuthenticatedCaller, Correlation, Reply, api::RemainingTime, last_event::LastEventId,
    request_body::JsonBody,
};
use service::{
    app::App,
    respond::{TurnRequest, respond},
};

pub(crate) async fn submit_results(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Correlation(correlation): Correlation,
    RemainingTime(budget): RemainingTime,
    LastEventId(last_event_id): LastEventId,
    JsonBody(results): JsonBody<ToolContinuation>,
) -> Result<Response, Reply> {
    respond(&app, caller, correlation, TurnRequest::Execute(results.into()), last_event_id, budget).await
}
