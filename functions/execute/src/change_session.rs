//! `PATCH …/sessions/{SessionId}`: name, description and visibility of a session (DD-002A, DD-003).

use axum::extract::State;
use contracts::request::SessionEdit;
use runtime::{Identified, Reply, path::OfSession, request_body::JsonBody};
use service::app::{App, refused};

pub(crate) async fn change_session(
    State(app): State<App>,
    Identified(caller): Identified,
    OfSession(session): OfSession,
    JsonBody(edit): JsonBody<SessionEdit>,
) -> Result<Reply, Reply> {
    app.turns.edit(&caller, session.clone(), edit).await.map_err(refused)?;
    app.session_summary(&caller, session).await
}
