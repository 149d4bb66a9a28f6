//! `POST …/sessions/{SessionId}/restore`: a deletion is taken back.

use axum::extract::State;
use runtime::{Identified, Reply, path::OfSession};
use service::app::{App, refused};

pub(crate) async fn restore_session(
    State(app): State<App>,
    Identified(caller): Identified,
    OfSession(session): OfSession,
) -> Result<Reply, Reply> {
    app.turns.restore(&caller, session.clone()).await.map_err(refused)?;
    app.session_summary(&caller, session).await
}
