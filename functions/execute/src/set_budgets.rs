//! `PUT /api/ai/agent/budgets`: replaces the budgets of the caller's org.

use axum::extract::State;
use contracts::request::Budgets;
use runtime::{AuthenticatedCaller, CachePolicy, IfNoneMatch, Reply, WriteCondition, request_body::JsonBody};
use service::app::{App, error_reply, replace_budgets};

use crate::contexts::precondition;

pub(crate) async fn set_budgets(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    required: WriteCondition,
    JsonBody(budgets): JsonBody<Budgets>,
) -> Result<Reply, Reply> {
    let written = replace_budgets(&app.adapters, &caller, budgets, &precondition(required)).await;
    let written = written.map_err(error_reply)?;
    let tag = written.etag.clone().unwrap_or_default();
    Ok(Reply::ok(written).with_entity_tag(&tag, CachePolicy::Revalidate, &IfNoneMatch::default()))
}
