//! `POST /api/ai/agent/import`: imports exported sessions.

use axum::extract::State;
use runtime::{AuthenticatedCaller, Reply, query::Query, request_body::ImportBody};
use serde::Deserialize;
use service::app::{App, IdPolicy, error_reply, import_sessions};

#[derive(Deserialize)]
pub(crate) struct ImportQuery {
    #[serde(with = "IdsParameter")]
    ids: IdPolicy,
}

#[derive(Deserialize)]
#[serde(remote = "IdPolicy", rename_all = "lowercase")]
enum IdsParameter {
    Keep,
    New,
}

pub(crate) async fn import(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Query(ImportQuery { ids }): Query<ImportQuery>,
    ImportBody(exports): ImportBody,
) -> Result<Reply, Reply> {
    let imported = import_sessions(&app.adapters, app.session_policy, &caller, exports, ids);
    imported.await.map(Reply::ok).map_err(error_reply)
}
