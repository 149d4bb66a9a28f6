//! `POST /api/ai/agent/tool-results`: the results of a turn's client tools, and nothing else.

use axum::{extract::State, response::Response};
use runtime::{
    Correlation, Identified, Reply, api::TimeLeft, last_event::After, request_body::ToolResultsBody,
};
use service::{answer::answer, app::App};

pub(crate) async fn submit_results(
    State(app): State<App>,
    Identified(caller): Identified,
    Correlation(correlation): Correlation,
    TimeLeft(budget): TimeLeft,
    After(seen): After,
    ToolResultsBody(results): ToolResultsBody,
) -> Result<Response, Reply> {
    answer(&app, caller, correlation, results.into(), seen, budget).await
}
