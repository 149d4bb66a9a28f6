//! `POST …/sessions/{SessionId}/fork`: a session that goes on from one of this one's turns.

use axum::extract::State;
use contracts::request::ForkRequest;
use runtime::{Identified, Reply, path::OfSession, request_body::JsonBody};
use service::app::{App, refused};

pub(crate) async fn fork_session(
    State(app): State<App>,
    Identified(caller): Identified,
    OfSession(session): OfSession,
    JsonBody(asked): JsonBody<ForkRequest>,
) -> Result<Reply, Reply> {
    app.turns.fork(&caller, session, &asked).await.map_err(refused)?;
    let fork = app.reader.session_with_first_turns(&caller, asked.session_id).await.map_err(refused)?;
    Ok(Reply::warned(fork.result, fork.warnings))
}
