//! `DELETE …/sessions/{SessionId}`: the session takes nothing more, and is kept for a while or purged (rule 12).

use axum::extract::State;
use contracts::read::SessionDeletion;
use runtime::{Correlation, Identified, Reply, api::TimeLeft, path::OfSession, query::Query};
use service::app::{App, Invocation, refused};

pub(crate) async fn delete_session(
    State(app): State<App>,
    Identified(caller): Identified,
    Correlation(correlation): Correlation,
    OfSession(session): OfSession,
    TimeLeft(budget): TimeLeft,
    query: Query,
) -> Result<Reply, Reply> {
    if query.purge()? {
        app.turns.order_purge(&caller, session.clone()).await.map_err(refused)?;
        let report = app.reader.purge(&caller, session).await.map_err(refused)?;
        return Ok(Reply::ok(SessionDeletion::Purged(report)));
    }
    let invocation = Invocation { budget, correlation: Some(correlation) };
    app.turns.delete(&caller, session.clone(), &invocation).await.map_err(refused)?;
    app.session_summary(&caller, session).await
}
