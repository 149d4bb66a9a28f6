//! `DELETE …/sessions/{SessionId}`: the session takes nothing more, and is kept for a while (rule 12).

use axum::extract::State;
use runtime::{Correlation, Identified, Reply, api::TimeLeft, path::OfSession};
use service::app::{App, Invocation, refused};

pub(crate) async fn delete_session(
    State(app): State<App>,
    Identified(caller): Identified,
    Correlation(correlation): Correlation,
    OfSession(session): OfSession,
    TimeLeft(budget): TimeLeft,
) -> Result<Reply, Reply> {
    let invocation = Invocation { budget, correlation: Some(correlation) };
    app.turns.delete(&caller, session.clone(), &invocation).await.map_err(refused)?;
    app.session_summary(&caller, session).await
}
