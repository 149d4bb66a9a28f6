//! `POST …/turns/{TurnId}/rerun`: the turn is run again, as a new one (DD-006).

use axum::{extract::State, response::Response};
use contracts::request::RerunRequest;
use runtime::{
    Correlation, Identified, Reply, api::TimeLeft, last_event::After, path::OfTurn, request_body::JsonBody,
};
use service::{
    answer::{Work, answer},
    app::App,
};

pub(crate) async fn rerun_turn(
    State(app): State<App>,
    Identified(caller): Identified,
    Correlation(correlation): Correlation,
    TimeLeft(budget): TimeLeft,
    After(seen): After,
    OfTurn(session, turn): OfTurn,
    JsonBody(asked): JsonBody<RerunRequest>,
) -> Result<Response, Reply> {
    let work = Work::Rerun { session, turn, asked };
    answer(&app, caller, correlation, work, seen, budget).await
}
