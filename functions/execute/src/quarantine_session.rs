//! `POST …/sessions/{SessionId}/quarantine` and `…/release`: an operator quarantines a session, or releases it.

use axum::extract::State;
use runtime::{
    AuthenticatedCaller, Correlation, Reply, WriteCondition, api::RemainingTime, path::SessionPath,
};
use service::app::{App, Invocation};
use turns::flow::SessionOperation;

use crate::documents::precondition;

pub(crate) async fn quarantine(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Correlation(correlation): Correlation,
    SessionPath(session): SessionPath,
    RemainingTime(budget): RemainingTime,
    required: WriteCondition,
) -> Result<Reply, Reply> {
    let invocation = Invocation { budget, correlation: Some(correlation) };
    let operation = SessionOperation::Quarantine(&invocation);
    app.change_session(&caller, &session, precondition(required), &operation).await?;
    app.session_summary(&caller, session).await
}

pub(crate) async fn release(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    SessionPath(session): SessionPath,
    required: WriteCondition,
) -> Result<Reply, Reply> {
    app.change_session(&caller, &session, precondition(required), &SessionOperation::Release).await?;
    app.session_summary(&caller, session).await
}
