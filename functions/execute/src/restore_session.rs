//! `POST …/sessions/{SessionId}/restore`: restores a deleted session.

use axum::extract::State;
use runtime::{AuthenticatedCaller, Reply, WriteCondition, path::SessionPath};
use service::app::App;
use turns::flow::SessionOperation;

use crate::documents::precondition;

pub(crate) async fn restore_session(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    SessionPath(session): SessionPath,
    required: WriteCondition,
) -> Result<Reply, Reply> {
    app.change_session(&caller, &session, precondition(required), &SessionOperation::Restore).await?;
    app.session_summary(&caller, session).await
}
