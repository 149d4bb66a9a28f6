//! Changes of documents by operators and agent editors: `PUT` and `DELETE …/agents/{ContextId}`,
//! `POST …/agents/{ContextId}/rollback`, `PUT …/agents/{ContextId}/rollout`, and the same of conversation contexts and
//! modes, which have no rollouts. Operators alone write connections: `PUT …/connections/{ContextId}`, `PUT …/secret`,
//! `POST …/try` and `POST …/refresh`. They alone replace budgets and org settings: `PUT …/budgets`, `PUT …/org-settings`.

use agent::context::{ContextKind, Rollout};
use axum::{Extension, Router, extract::State};
use contracts::{
    operations,
    request::{
        Budgets, ConnectionRefreshRequest, ConnectionSecretRequest, ContextText, OrgSettings,
        RollbackRequest, RolloutRequest, ToolTrialRequest,
    },
};
use runtime::{
    AuthenticatedCaller, CachePolicy, IfNoneMatch, OperationRoutes, Reply, WriteCondition,
    request_body::JsonBody,
};
use service::{
    app::{App, error_reply},
    handlers::{NamedContext, for_each_kind},
};
use turns::{
    document_view::DocumentView,
    flow::{self, NewDocument, Precondition, put_document},
    refusal::Refusal,
};

/// Returns the routes of all documents.
pub(crate) fn routes() -> Router<App> {
    let router = Router::new()
        .serve(&operations::SET_BUDGETS, put_budgets)
        .serve(&operations::SET_ORG_SETTINGS, put_org_settings)
        .merge(connection_routes().layer(Extension(ContextKind::Connection)));
    for_each_kind(router, |operations| {
        let router = Router::new()
            .serve(&operations.put, put_context)
            .serve(&operations.delete, delete_context)
            .serve(&operations.roll_back, roll_back);
        match &operations.roll_out {
            Some(operation) => router.serve(operation, roll_out),
            None => router,
        }
    })
}

fn connection_routes() -> Router<App> {
    Router::new()
        .serve(&operations::SET_CONNECTION_SECRET, put_connection_secret)
        .serve(&operations::TRY_TOOL, try_tool)
        .serve(&operations::REFRESH_CONNECTION, refresh_connection)
}

async fn put_connection_secret(
    State(app): State<App>,
    NamedContext { caller, id, .. }: NamedContext,
    JsonBody(secret): JsonBody<ConnectionSecretRequest>,
) -> Result<Reply, Reply> {
    let stored =
        flow::set_connection_secret(&app.adapters, &app.connection_secrets, &caller, id, secret).await;
    stored.map(Reply::ok).map_err(error_reply)
}

async fn try_tool(
    State(app): State<App>,
    NamedContext { caller, id, .. }: NamedContext,
    JsonBody(request): JsonBody<ToolTrialRequest>,
) -> Result<Reply, Reply> {
    flow::try_tool(&app.adapters, &caller, id, &request).await.map(Reply::ok).map_err(error_reply)
}

async fn refresh_connection(
    State(app): State<App>,
    NamedContext { caller, id, .. }: NamedContext,
    required: WriteCondition,
    JsonBody(request): JsonBody<ConnectionRefreshRequest>,
) -> Result<Reply, Reply> {
    let required = precondition(required);
    let compared = flow::refresh_connection(&app.adapters, &caller, id, &request, &required).await;
    compared.map(Reply::ok).map_err(error_reply)
}

async fn put_budgets(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    required: WriteCondition,
    JsonBody(budgets): JsonBody<Budgets>,
) -> Result<Reply, Reply> {
    let new = NewDocument::Budgets(budgets);
    with_tag(put_document(&app.adapters, &caller, new, &precondition(required)).await)
}

async fn put_org_settings(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    required: WriteCondition,
    JsonBody(settings): JsonBody<OrgSettings>,
) -> Result<Reply, Reply> {
    let new = NewDocument::OrgSettings(Box::new(settings));
    with_tag(put_document(&app.adapters, &caller, new, &precondition(required)).await)
}

async fn put_context(
    State(app): State<App>,
    NamedContext { caller, id, .. }: NamedContext,
    required: WriteCondition,
    JsonBody(text): JsonBody<ContextText>,
) -> Result<Reply, Reply> {
    let new = NewDocument::Context(id, text.as_str().to_owned());
    with_tag(put_document(&app.adapters, &caller, new, &precondition(required)).await)
}

async fn roll_back(
    State(app): State<App>,
    NamedContext { caller, id, .. }: NamedContext,
    required: WriteCondition,
    JsonBody(request): JsonBody<RollbackRequest>,
) -> Result<Reply, Reply> {
    with_tag(flow::roll_back(&app.adapters, &caller, id, request.version, &precondition(required)).await)
}

async fn roll_out(
    State(app): State<App>,
    NamedContext { caller, id, .. }: NamedContext,
    required: WriteCondition,
    JsonBody(request): JsonBody<RolloutRequest>,
) -> Result<Reply, Reply> {
    let rollout = Rollout { version: request.version, percent: request.percent };
    with_tag(flow::roll_out(&app.adapters, &caller, id, rollout, &precondition(required)).await)
}

async fn delete_context(
    State(app): State<App>,
    NamedContext { caller, id, .. }: NamedContext,
    required: WriteCondition,
) -> Result<Reply, Reply> {
    let deleted = flow::delete_context(&app.adapters, &caller, id, &precondition(required)).await;
    deleted.map(Reply::ok).map_err(error_reply)
}

pub(crate) fn precondition(required: WriteCondition) -> Precondition {
    match required {
        WriteCondition::None => Precondition::None,
        WriteCondition::Absent => Precondition::Absent,
        WriteCondition::Present => Precondition::Present,
        WriteCondition::Matches(tags) => Precondition::Matches(tags),
    }
}

/// Returns a changed document with its entity tag, which the next change can require.
fn with_tag(written: Result<DocumentView, Refusal>) -> Result<Reply, Reply> {
    let written = written.map_err(error_reply)?;
    let tag = written.etag().unwrap_or_default().to_owned();
    Ok(Reply::ok(written).with_entity_tag(&tag, CachePolicy::Revalidate, &IfNoneMatch::default()))
}
