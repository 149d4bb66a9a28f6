//! `DELETE …/sessions/{SessionId}`: closes a session and retains it for a while, or purges it (rule 12).

use axum::extract::State;
use contracts::read::SessionDeletion;
use runtime::{
    AuthenticatedCaller, Correlation, Reply, WriteCondition, api::RemainingTime, path::SessionPath,
    query::Query,
};
use serde::Deserialize;
use service::app::{App, Invocation, error_reply};
use turns::flow::SessionOperation;

use crate::documents::precondition;

#[derive(Deserialize)]
pub(crate) struct DeletionQuery {
    /// Set to purge the session.
    purge: bool,
}

pub(crate) async fn delete_session(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Correlation(correlation): Correlation,
    SessionPath(session): SessionPath,
    RemainingTime(budget): RemainingTime,
    Query(DeletionQuery { purge }): Query<DeletionQuery>,
    required: WriteCondition,
) -> Result<Reply, Reply> {
    let invocation = Invocation { budget, correlation: Some(correlation) };
    let operation = if purge { SessionOperation::Purge } else { SessionOperation::Delete(&invocation) };
    app.change_session(&caller, &session, precondition(required), &operation).await?;
    if purge {
        let report = app.reader.purge(&caller, session).await.map_err(error_reply)?;
        return Ok(Reply::ok(SessionDeletion::Purged(report)));
    }
    app.session_summary(&caller, session).await
}
