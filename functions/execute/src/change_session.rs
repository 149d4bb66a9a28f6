//! `PATCH …/sessions/{SessionId}`: changes the name, description and visibility of a session.

use axum::extract::State;
use contracts::request::SessionEdit;
use runtime::{AuthenticatedCaller, Reply, WriteCondition, path::SessionPath, request_body::JsonBody};
use service::app::{App, error_reply};
use turns::flow::SessionOperation;

use crate::contexts::precondition;

pub(crate) async fn change_session(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    SessionPath(session): SessionPath,
    required: WriteCondition,
    JsonBody(edit): JsonBody<SessionEdit>,
) -> Result<Reply, Reply> {
    let (reader, required) = (&app.reader, precondition(required));
    let changed =
        app.session_editor.change_if(reader, &caller, &session, required, SessionOperation::Edit(edit));
    changed.await.map_err(error_reply)?;
    app.session_summary(&caller, session).await
}
