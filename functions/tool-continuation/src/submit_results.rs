//! `POST /api/ai/agent/tool-results`: the results of a turn's client tools, and nothing else.

use axum::{extract::State, response::Response};
use contracts::ToolContinuation;
use runtime::{Correlation, Identified, Reply, api::TimeLeft, last_event::After, request_body::JsonBody};
use service::{
    answer::{Work, answer},
    app::App,
};

pub(crate) async fn submit_results(
    State(app): State<App>,
    Identified(caller): Identified,
    Correlation(correlation): Correlation,
    TimeLeft(budget): TimeLeft,
    After(seen): After,
    JsonBody(results): JsonBody<ToolContinuation>,
) -> Result<Response, Reply> {
    answer(&app, caller, correlation, Work::Asked(results.into()), seen, budget).await
}
