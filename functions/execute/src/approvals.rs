//! `POST …/approvals/{ApprovalId}/approve` and `…/deny`: a person answers. The turn queue has the turn continued.

use axum::extract::State;
use contracts::request::{ApproveRequest, DenyRequest};
use protocol::Caller;
use runtime::{AuthenticatedCaller, Reply, path::ApprovalPath, request_body::JsonBody};
use service::app::{App, error_reply};
use turns::flow::{GivenAnswer, answer_approval};

pub(crate) async fn approve(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    ApprovalPath { id }: ApprovalPath,
    JsonBody(request): JsonBody<ApproveRequest>,
) -> Result<Reply, Reply> {
    let answer = GivenAnswer::Approve { hash: request.hash, arguments: request.arguments };
    answered(&app, &caller, &id, &answer).await
}

pub(crate) async fn deny(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    ApprovalPath { id }: ApprovalPath,
    JsonBody(request): JsonBody<DenyRequest>,
) -> Result<Reply, Reply> {
    let answer = GivenAnswer::Deny { hash: request.hash, reason: request.reason };
    answered(&app, &caller, &id, &answer).await
}

async fn answered(app: &App, caller: &Caller, id: &str, answer: &GivenAnswer) -> Result<Reply, Reply> {
    let answered = answer_approval(&app.adapters, &app.turn_queue, caller, id, answer).await;
    answered.map(Reply::ok).map_err(error_reply)
}
