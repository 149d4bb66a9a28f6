//! `POST …/turns/{TurnId}/cancel`: cancels a running turn and returns its summary.

use axum::extract::State;
use runtime::{AuthenticatedCaller, Correlation, Reply, api::RemainingTime, path::TurnPath};
use service::app::{self, App, Invocation, error_reply};

pub(crate) async fn cancel_turn(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Correlation(correlation): Correlation,
    TurnPath(session, turn): TurnPath,
    RemainingTime(budget): RemainingTime,
) -> Result<Reply, Reply> {
    let invocation = Invocation { budget, correlation: Some(correlation) };
    let cancelled =
        app::cancel_turn(&app.adapters, &caller, session.clone(), turn.clone(), &invocation).await;
    let warning = cancelled.map_err(error_reply)?.warning();
    let summary = app.reader.turn_summary(&caller, session, turn).await.map_err(error_reply)?;
    Ok(Reply::ok_with_warnings(summary, warning))
}
