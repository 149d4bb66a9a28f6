//! `POST /api/ai/agent/import`: imports exported sessions.

use axum::extract::State;
use runtime::{AuthenticatedCaller, Reply, query::ImportIds, request_body::ImportBody};
use service::app::{App, IdPolicy, error_reply};

pub(crate) async fn import_sessions(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    ImportIds { new }: ImportIds,
    ImportBody(exports): ImportBody,
) -> Result<Reply, Reply> {
    let ids = if new { IdPolicy::New } else { IdPolicy::Keep };
    app.importer.import(&caller, exports, ids).await.map(Reply::ok).map_err(error_reply)
}
