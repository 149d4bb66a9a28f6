//! `POST …/sessions/{SessionId}/restore`: restores a deleted session.

use axum::extract::State;
use runtime::{AuthenticatedCaller, Reply, WriteCondition, path::SessionPath};
use service::app::{App, error_reply};
use turns::flow::SessionOperation;

use crate::contexts::precondition;

pub(crate) async fn restore_session(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    SessionPath(session): SessionPath,
    required: WriteCondition,
) -> Result<Reply, Reply> {
    let (reader, required) = (&app.reader, precondition(required));
    let changed =
        app.session_editor.change_if(reader, &caller, &session, required, SessionOperation::Restore);
    changed.await.map_err(error_reply)?;
    app.session_summary(&caller, session).await
}
