//! `PUT /api/ai/agent/budgets`: replaces the budgets of the caller's org.

use axum::extract::State;
use contracts::request::Budgets;
use runtime::{AuthenticatedCaller, Reply, request_body::JsonBody};
use service::app::{App, error_reply};

pub(crate) async fn set_budgets(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    JsonBody(budgets): JsonBody<Budgets>,
) -> Result<Reply, Reply> {
    app.budgets.replace(&caller, budgets).await.map(Reply::ok).map_err(error_reply)
}
