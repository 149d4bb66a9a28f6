//! `PUT` and `DELETE …/agents/{ContextId}`, `POST …/agents/{ContextId}/rollback`, `PUT …/agents/{ContextId}/rollout`, and the
//! same of conversation contexts and modes: changes by operators and agent editors. Modes have no rollouts.

use agent::context::{ContextKind, Rollout};
use axum::{Extension, Router, extract::State};
use contracts::{
    operations::contexts::ContextOperations,
    read::Context,
    request::{ContextText, RollbackRequest, RolloutRequest},
};
use runtime::{
    AuthenticatedCaller, CachePolicy, IfNoneMatch, OperationRoutes, Reply, WriteCondition, path::ContextPath,
    request_body::JsonBody,
};
use service::app::{App, error_reply};
use turns::flow::{Precondition, context_id};

/// Returns the routes of a kind of contexts.
pub(crate) fn routes(operations: &ContextOperations, kind: ContextKind) -> Router<App> {
    let router = Router::new()
        .serve(&operations.put, put_context)
        .serve(&operations.delete, delete_context)
        .serve(&operations.roll_back, roll_back);
    let router = match &operations.roll_out {
        Some(operation) => router.serve(operation, roll_out),
        None => router,
    };
    router.layer(Extension(kind))
}

async fn put_context(
    State(app): State<App>,
    Extension(kind): Extension<ContextKind>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    path: ContextPath,
    required: WriteCondition,
    JsonBody(text): JsonBody<ContextText>,
) -> Result<Reply, Reply> {
    let id = context_id(&caller, kind, &path.id).map_err(error_reply)?;
    let (required, rules) = (precondition(required), app.config.rules());
    let written = app.context_editor.put(&caller, &id, text.as_str(), &required, &rules).await;
    written.map(with_tag).map_err(error_reply)
}

async fn roll_back(
    State(app): State<App>,
    Extension(kind): Extension<ContextKind>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    path: ContextPath,
    required: WriteCondition,
    JsonBody(request): JsonBody<RollbackRequest>,
) -> Result<Reply, Reply> {
    let id = context_id(&caller, kind, &path.id).map_err(error_reply)?;
    let (required, rules) = (precondition(required), app.config.rules());
    let written = app.context_editor.roll_back(&caller, &id, request.version, &required, &rules).await;
    written.map(with_tag).map_err(error_reply)
}

async fn roll_out(
    State(app): State<App>,
    Extension(kind): Extension<ContextKind>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    path: ContextPath,
    required: WriteCondition,
    JsonBody(request): JsonBody<RolloutRequest>,
) -> Result<Reply, Reply> {
    let id = context_id(&caller, kind, &path.id).map_err(error_reply)?;
    let (required, rules) = (precondition(required), app.config.rules());
    let rollout = Rollout { version: request.version, percent: request.percent };
    let written = app.context_editor.roll_out(&caller, &id, rollout, &required, &rules).await;
    written.map(with_tag).map_err(error_reply)
}

async fn delete_context(
    State(app): State<App>,
    Extension(kind): Extension<ContextKind>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    path: ContextPath,
    required: WriteCondition,
) -> Result<Reply, Reply> {
    let id = context_id(&caller, kind, &path.id).map_err(error_reply)?;
    let deleted = app.context_editor.delete(&caller, &id, &precondition(required)).await;
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

/// Returns a written context with its entity tag, which the next change can require.
fn with_tag(context: Context) -> Reply {
    let tag = context.etag.clone().unwrap_or_default();
    Reply::ok(context).with_entity_tag(&tag, CachePolicy::Revalidate, &IfNoneMatch::default())
}
