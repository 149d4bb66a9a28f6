//! Changes of documents by operators and agent editors: `PUT` and `DELETE …/agents/{ContextId}`,
//! `POST …/agents/{ContextId}/rollback`, `PUT …/agents/{ContextId}/rollout`, and the same of conversation contexts and
//! modes, which have no rollouts. Operators alone replace budgets and org settings: `PUT …/budgets`, `PUT …/org-settings`.

use agent::context::{ContextKind, Rollout};
use axum::{Extension, Router, extract::State};
use contracts::{
    operations::{self, contexts as kinds},
    request::{Budgets, ContextText, OrgSettings, RollbackRequest, RolloutRequest},
};
use runtime::{
    AuthenticatedCaller, CachePolicy, IfNoneMatch, OperationRoutes, Reply, WriteCondition, path::ContextPath,
    request_body::JsonBody,
};
use service::app::{App, error_reply};
use turns::{
    document_view::DocumentView,
    flow::{self, NewDocument, Precondition, context_id, put_document},
    refusal::Refusal,
};

/// Returns the routes of all documents.
pub(crate) fn routes() -> Router<App> {
    let kinds = [
        (&kinds::AGENTS, ContextKind::Agent),
        (&kinds::CONVERSATION_CONTEXTS, ContextKind::Conversation),
        (&kinds::MODES, ContextKind::Mode),
    ];
    let router = Router::new()
        .serve(&operations::SET_BUDGETS, put_budgets)
        .serve(&operations::SET_ORG_SETTINGS, put_org_settings);
    kinds.into_iter().fold(router, |router, (operations, kind)| {
        let of_kind = Router::new()
            .serve(&operations.put, put_context)
            .serve(&operations.delete, delete_context)
            .serve(&operations.roll_back, roll_back);
        let of_kind = match &operations.roll_out {
            Some(operation) => of_kind.serve(operation, roll_out),
            None => of_kind,
        };
        router.merge(of_kind.layer(Extension(kind)))
    })
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
    Extension(kind): Extension<ContextKind>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    path: ContextPath,
    required: WriteCondition,
    JsonBody(text): JsonBody<ContextText>,
) -> Result<Reply, Reply> {
    let id = context_id(&caller, kind, &path.id).map_err(error_reply)?;
    let new = NewDocument::Context(id, text.as_str().to_owned());
    with_tag(put_document(&app.adapters, &caller, new, &precondition(required)).await)
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
    with_tag(flow::roll_back(&app.adapters, &caller, id, request.version, &precondition(required)).await)
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
    let rollout = Rollout { version: request.version, percent: request.percent };
    with_tag(flow::roll_out(&app.adapters, &caller, id, rollout, &precondition(required)).await)
}

async fn delete_context(
    State(app): State<App>,
    Extension(kind): Extension<ContextKind>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    path: ContextPath,
    required: WriteCondition,
) -> Result<Reply, Reply> {
    let id = context_id(&caller, kind, &path.id).map_err(error_reply)?;
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
