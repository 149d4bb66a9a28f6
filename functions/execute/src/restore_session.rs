//! `POST …/sessions/{SessionId}/restore`: restores a deleted session.

use axum::extract::State;
use runtime::{AuthenticatedCaller, Reply, path::SessionPath};
use service::app::{App, error_reply};

pub(crate) async fn restore_session(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    SessionPath(session): SessionPath,
) -> Result<Reply, Reply> {
    app.session_editor.restore(&caller, session.clone()).await.map_err(error_reply)?;
    app.session_summary(&caller, session).await
}
