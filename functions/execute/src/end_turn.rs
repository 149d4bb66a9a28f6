//! `POST …/turns/{TurnId}/abandon` and `…/settle`: an operator ends a turn, or settles an overdue one.

use axum::extract::State;
use runtime::{AuthenticatedCaller, Correlation, Reply, api::RemainingTime, path::TurnPath};
use service::app::{App, Invocation, abandon_turn, error_reply, settle_turn};
use turns::ports::NoProviders;

pub(crate) async fn abandon(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Correlation(correlation): Correlation,
    TurnPath(session, turn): TurnPath,
    RemainingTime(budget): RemainingTime,
) -> Result<Reply, Reply> {
    let invocation = Invocation { budget, correlation: Some(correlation) };
    let abandoned = abandon_turn(&app.adapters, &caller, session.clone(), turn.clone(), &invocation).await;
    let warning = abandoned.map_err(error_reply)?.warning();
    let summary = app.reader.turn_summary(&caller, session, turn).await.map_err(error_reply)?;
    Ok(Reply::ok_with_warnings(summary, warning))
}

pub(crate) async fn settle(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    TurnPath(session, turn): TurnPath,
) -> Result<Reply, Reply> {
    let settled = settle_turn(&app.adapters, &NoProviders, &caller, session.clone(), turn.clone());
    settled.await.map_err(error_reply)?;
    app.reader.turn_summary(&caller, session, turn).await.map(Reply::ok).map_err(error_reply)
}
