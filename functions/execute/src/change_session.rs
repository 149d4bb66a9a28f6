//! `PATCH …/sessions/{SessionId}`: changes the name, description and visibility of a session.

use axum::extract::State;
use contracts::request::SessionEdit;
use runtime::{AuthenticatedCaller, Reply, WriteCondition, path::SessionPath, request_body::JsonBody};
use service::app::App;
use turns::flow::SessionOperation;

use crate::documents::precondition;

pub(crate) async fn change_session(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    SessionPath(session): SessionPath,
    required: WriteCondition,
    JsonBody(edit): JsonBody<SessionEdit>,
) -> Result<Reply, Reply> {
    app.change_session(&caller, &session, precondition(required), &SessionOperation::Edit(edit)).await?;
    app.session_summary(&caller, session).await
}
