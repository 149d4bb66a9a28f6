//! `GET /api/ai/agent/effects`: the calls whose outcome is unknown, for operators.

use axum::extract::State;
use runtime::{
    AuthenticatedCaller, Reply,
    query::{ListScope, Query},
};
use turns::flow::list_unknown_effects;

use crate::{
    app::{App, error_reply},
    parameters::Page,
};

pub(crate) async fn list(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    list: ListScope,
    Query(page): Query<Page>,
) -> Result<Reply, Reply> {
    let position = app.open_page_token(&caller, &list, &page)?;
    let effects = list_unknown_effects(&app.documents, &caller, page.size(), position).await;
    let mut effects = effects.map_err(error_reply)?;
    app.seal_page_token(&caller, &list, &mut effects.continuation_token);
    Ok(Reply::ok(effects))
}
