//! `PATCH …/sessions/{SessionId}`: changes the name, description and visibility of a session.

use axum::extract::State;
use contracts::request::SessionEdit;
use runtime::{AuthenticatedCaller, Reply, path::SessionPath, request_body::JsonBody};
use service::app::{App, error_reply};

pub(crate) async fn change_session(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    SessionPath(session): SessionPath,
    JsonBody(edit): JsonBody<SessionEdit>,
) -> Result<Reply, Reply> {
    app.session_editor.edit(&caller, session.clone(), edit).await.map_err(error_reply)?;
    app.session_summary(&caller, session).await
}
