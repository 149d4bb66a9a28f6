//! `POST /api/ai/agent/tool-results`: the results of a turn's client tools, and nothing else.

use axum::extract::State;
use execute::app::{App, Live, refused};
use runtime::{Identified, Reply, api::TimeLeft, ask::Submitted};

pub(crate) async fn submit_results(
    State(app): State<App>,
    Identified(caller): Identified,
    TimeLeft(budget): TimeLeft,
    Submitted(results): Submitted,
) -> Result<Reply, Reply> {
    let response = app.turns.resume(&caller, &results, budget, &Live::silent()).await;
    response.map(|response| Reply::stored(response.to_bytes(), response.error_code)).map_err(refused)
}
