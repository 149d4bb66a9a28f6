//! `POST /api/ai/agent/execute`: a user turn, or the results of a turn's client tools.

use axum::{extract::State, response::Response};
use runtime::{Correlation, Identified, Reply, api::TimeLeft, last_event::After, request_body::ExecuteBody};

use service::{
    answer::{Work, answer},
    app::App,
};

pub(crate) async fn run_turn(
    State(app): State<App>,
    Identified(caller): Identified,
    Correlation(correlation): Correlation,
    TimeLeft(budget): TimeLeft,
    After(seen): After,
    ExecuteBody(request): ExecuteBody,
) -> Result<Response, Reply> {
    answer(&app, caller, correlation, Work::Asked(request), seen, budget).await
}
