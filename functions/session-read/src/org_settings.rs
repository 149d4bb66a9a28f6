//! `GET /api/ai/agent/org-settings`: the settings of the caller's org.

use axum::extract::State;
use runtime::{AuthenticatedCaller, CachePolicy, IfNoneMatch, Reply};

use crate::app::{App, error_reply};

pub(crate) async fn org_settings(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    had: IfNoneMatch,
) -> Result<Reply, Reply> {
    let settings = app.reader.org_settings(&caller).await.map_err(error_reply)?;
    let tag = settings.etag.clone().unwrap_or_default();
    Ok(Reply::ok(settings).with_entity_tag(&tag, CachePolicy::Revalidate, &had))
}
