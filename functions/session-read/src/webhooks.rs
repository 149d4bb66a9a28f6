//! Reads of webhooks besides their documents, for operators: `GET …/webhooks/{ContextId}/deliveries` and `…/status`.

use agent::context::ContextKind;
use axum::{Extension, Router, extract::State};
use contracts::operations;
use runtime::{
    OperationRoutes, Reply,
    query::{ListScope, Query},
};
use service::handlers::NamedContext;
use turns::flow::{list_webhook_deliveries, read_webhook_status};

use crate::{
    app::{App, error_reply},
    parameters::Page,
};

/// Returns the routes.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .serve(&operations::LIST_WEBHOOK_DELIVERIES, deliveries)
        .serve(&operations::READ_WEBHOOK_STATUS, status)
        .layer(Extension(ContextKind::Webhook))
}

async fn deliveries(
    State(app): State<App>,
    NamedContext { caller, id, .. }: NamedContext,
    list: ListScope,
    Query(page): Query<Page>,
) -> Result<Reply, Reply> {
    let position = app.open_page_token(&caller, &list, &page)?;
    let found = list_webhook_deliveries(&app.documents, &caller, &id, page.size(), position).await;
    let mut found = found.map_err(error_reply)?;
    app.seal_page_token(&caller, &list, &mut found.continuation_token);
    Ok(Reply::ok(found))
}

async fn status(
    State(app): State<App>,
    NamedContext { caller, id, .. }: NamedContext,
) -> Result<Reply, Reply> {
    read_webhook_status(&app.documents, &caller, &id).await.map(Reply::ok).map_err(error_reply)
}
