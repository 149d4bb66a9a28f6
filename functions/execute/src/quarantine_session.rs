//! `POST …/sessions/{SessionId}/quarantine` and `…/release`: an operator quarantines a session, or releases it.

use axum::extract::State;
use runtime::{AuthenticatedCaller, Correlation, Reply, api::RemainingTime, path::SessionPath};
use service::app::{App, Invocation, error_reply};

pub(crate) async fn quarantine(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Correlation(correlation): Correlation,
    SessionPath(session): SessionPath,
    RemainingTime(budget): RemainingTime,
) -> Result<Reply, Reply> {
    let invocation = Invocation { budget, correlation: Some(correlation) };
    app.session_editor.quarantine(&caller, session.clone(), &invocation).await.map_err(error_reply)?;
    app.session_summary(&caller, session).await
}

pub(crate) async fn release(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    SessionPath(session): SessionPath,
) -> Result<Reply, Reply> {
    app.session_editor.release(&caller, session.clone()).await.map_err(error_reply)?;
    app.session_summary(&caller, session).await
}
