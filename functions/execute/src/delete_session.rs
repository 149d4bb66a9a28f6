//! `DELETE …/sessions/{SessionId}`: closes a session and retains it for a while, or purges it (rule 12).

use axum::extract::State;
use contracts::read::SessionDeletion;
use runtime::{AuthenticatedCaller, Correlation, Reply, api::RemainingTime, path::SessionPath, query::Query};
use serde::Deserialize;
use service::app::{App, Invocation, error_reply};

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
) -> Result<Reply, Reply> {
    if purge {
        app.session_editor.request_purge(&caller, session.clone()).await.map_err(error_reply)?;
        let report = app.reader.purge(&caller, session).await.map_err(error_reply)?;
        return Ok(Reply::ok(SessionDeletion::Purged(report)));
    }
    let invocation = Invocation { budget, correlation: Some(correlation) };
    app.session_editor.delete(&caller, session.clone(), &invocation).await.map_err(error_reply)?;
    app.session_summary(&caller, session).await
}
