//! `POST …/turns/{TurnId}/resolve-effect`: an operator resolves a call whose outcome is unknown.

use axum::extract::State;
use contracts::request::EffectResolution;
use runtime::{AuthenticatedCaller, Reply, path::TurnPath, request_body::JsonBody};
use service::app::{App, error_reply};
use turns::flow;

pub(crate) async fn resolve(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    TurnPath(session, turn): TurnPath,
    JsonBody(resolution): JsonBody<EffectResolution>,
) -> Result<Reply, Reply> {
    let resolved = flow::resolve_effect(&app.adapters, &caller, session, turn, &resolution).await;
    resolved.map(Reply::ok).map_err(error_reply)
}
