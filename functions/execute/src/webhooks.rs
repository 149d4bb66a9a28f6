//! Changes of webhooks besides their documents, for operators: `POST …/webhooks/{ContextId}/secret`, `…/test` and
//! `…/replay`.

use agent::context::ContextKind;
use axum::{Extension, Router, extract::State};
use contracts::{operations, request::WebhookReplayRequest};
use runtime::{OperationRoutes, Reply, request_body::JsonBody};
use service::{
    app::{App, error_reply},
    handlers::NamedContext,
};
use turns::flow;

/// Returns the routes.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .serve(&operations::ROTATE_WEBHOOK_SECRET, rotate_secret)
        .serve(&operations::TEST_WEBHOOK, test)
        .serve(&operations::REPLAY_WEBHOOK, replay)
        .layer(Extension(ContextKind::Webhook))
}

async fn rotate_secret(
    State(app): State<App>,
    NamedContext { caller, id, .. }: NamedContext,
) -> Result<Reply, Reply> {
    let App { adapters, receivers, webhook_secrets, .. } = &app;
    let rotated = flow::rotate_webhook_secret(adapters, receivers, webhook_secrets, &caller, &id).await;
    rotated.map(Reply::ok).map_err(error_reply)
}

async fn test(State(app): State<App>, NamedContext { caller, id, .. }: NamedContext) -> Result<Reply, Reply> {
    let App { adapters, receivers, webhook_secrets, .. } = &app;
    let tested = flow::test_webhook(adapters, receivers, webhook_secrets, &caller, &id).await;
    tested.map(Reply::ok).map_err(error_reply)
}

async fn replay(
    State(app): State<App>,
    NamedContext { caller, id, .. }: NamedContext,
    JsonBody(request): JsonBody<WebhookReplayRequest>,
) -> Result<Reply, Reply> {
    flow::replay_webhook(&app.adapters, &caller, &id, &request).await.map(Reply::ok).map_err(error_reply)
}
