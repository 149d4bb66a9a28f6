//! `POST /api/ai/agent/tool-results`: the results of a turn's client tools, and nothing else.

use axum::extract::State;
use runtime::{Identified, Reply, ask::Submitted};
use turns::flow::{Refusal, resume};

use crate::app::App;

pub(crate) async fn submit_results(
    State(app): State<App>,
    Identified(caller): Identified,
    Submitted(results): Submitted,
) -> Result<Reply, Reply> {
    let response = resume(&app.table, &caller, &results).await;
    response.map(|response| Reply::stored(response.to_bytes(), response.error_code)).map_err(refused)
}

fn refused(refusal: Refusal) -> Reply {
    Reply::refused(&refusal, refusal.error(), refusal.retry_after())
}
