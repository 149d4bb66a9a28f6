//! `POST …/sessions/{SessionId}/quarantine` and `…/release`: an operator quarantines a session, or releases it.

use axum::extract::State;
use runtime::{
    AuthenticatedCaller, Correlation, Reply, WriteCondition, api::RemainingTime, path::SessionPath,
};
use service::app::{App, Invocation, error_reply};
use turns::flow::SessionOperation;

use crate::contexts::precondition;

pub(crate) async fn quarantine(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Correlation(correlation): Correlation,
    SessionPath(session): SessionPath,
    RemainingTime(budget): RemainingTime,
    required: WriteCondition,
) -> Result<Reply, Reply> {
    let invocation = Invocation { budget, correlation: Some(correlation) };
    let (reader, required) = (&app.reader, precondition(required));
    let operation = SessionOperation::Quarantine(&invocation);
    let changed = app.session_editor.change_if(reader, &caller, &session, required, operation);
    changed.await.map_err(error_reply)?;
    app.session_summary(&caller, session).await
}

pub(crate) async fn release(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    SessionPath(session): SessionPath,
    required: WriteCondition,
) -> Result<Reply, Reply> {
    let (reader, required) = (&app.reader, precondition(required));
    let changed =
        app.session_editor.change_if(reader, &caller, &session, required, SessionOperation::Release);
    changed.await.map_err(error_reply)?;
    app.session_summary(&caller, session).await
}
