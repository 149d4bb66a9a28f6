//! `POST /api/ai/agent/execute`: a user turn, or the results of a turn's client tools.

use axum::extract::State;
use contracts::AgentExecuteRequest;
use runtime::{Identified, Reply, api::TimeLeft, ask::Asked};

use turns::stream::Live;

use crate::app::{App, refused};

pub(crate) async fn run_turn(
    State(app): State<App>,
    Identified(caller): Identified,
    TimeLeft(budget): TimeLeft,
    Asked(request): Asked,
) -> Result<Reply, Reply> {
    let response = match request {
        AgentExecuteRequest::UserTurn(turn) => {
            app.turns.execute(&caller, &turn, budget, &Live::silent()).await
        }
        AgentExecuteRequest::ToolContinuation(results) => {
            app.turns.resume(&caller, &results, budget, &Live::silent()).await
        }
    };
    response.map(|response| Reply::stored(response.to_bytes(), response.error_code)).map_err(refused)
}
