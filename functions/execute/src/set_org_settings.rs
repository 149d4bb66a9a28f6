//! `PUT /api/ai/agent/org-settings`: replaces the settings of the caller's org.

use axum::extract::State;
use contracts::request::OrgSettings;
use runtime::{AuthenticatedCaller, CachePolicy, IfNoneMatch, Reply, WriteCondition, request_body::JsonBody};
use service::app::{App, error_reply, replace_org_settings};

use crate::contexts::precondition;

pub(crate) async fn set_org_settings(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    required: WriteCondition,
    JsonBody(settings): JsonBody<OrgSettings>,
) -> Result<Reply, Reply> {
    let written = replace_org_settings(&app.adapters, &caller, settings, &precondition(required)).await;
    let written = written.map_err(error_reply)?;
    let tag = written.etag.clone().unwrap_or_default();
    Ok(Reply::ok(written).with_entity_tag(&tag, CachePolicy::Revalidate, &IfNoneMatch::default()))
}
