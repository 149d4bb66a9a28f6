//! `POST /api/ai/agent/import`: sessions of an export come back.

use axum::extract::State;
use runtime::{Identified, Reply, query::ImportIds, request_body::Exports};
use service::app::{App, Ids, refused};

pub(crate) async fn import_sessions(
    State(app): State<App>,
    Identified(caller): Identified,
    ImportIds { new }: ImportIds,
    Exports(exports): Exports,
) -> Result<Reply, Reply> {
    let ids = if new { Ids::New } else { Ids::Keep };
    app.turns.import(&caller, exports, ids).await.map(Reply::ok).map_err(refused)
}
