//! `POST …/approvals/{ApprovalId}/approve` and `…/deny`: a person answers. The last answer of a turn continues it.

use axum::{extract::State, response::Response};
use contracts::request::{ApproveRequest, DenyRequest};
use protocol::{Caller, correlation::CorrelationId};
use runtime::{
    AuthenticatedCaller, Correlation, Reply, api::RemainingTime, path::ApprovalPath, request_body::JsonBody,
};
use service::{
    app::App,
    respond::{TurnRequest, respond},
};
use std::time::Duration;
use turns::flow::GivenAnswer;

pub(crate) async fn approve(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Correlation(correlation): Correlation,
    RemainingTime(budget): RemainingTime,
    ApprovalPath { id }: ApprovalPath,
    JsonBody(request): JsonBody<ApproveRequest>,
) -> Result<Response, Reply> {
    let answer = GivenAnswer::Approve { hash: request.hash, arguments: request.arguments };
    answered(&app, caller, correlation, (id, answer), budget).await
}

pub(crate) async fn deny(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Correlation(correlation): Correlation,
    RemainingTime(budget): RemainingTime,
    ApprovalPath { id }: ApprovalPath,
    JsonBody(request): JsonBody<DenyRequest>,
) -> Result<Response, Reply> {
    let answer = GivenAnswer::Deny { hash: request.hash, reason: request.reason };
    answered(&app, caller, correlation, (id, answer), budget).await
}

async fn answered(
    app: &App,
    caller: Caller,
    correlation: CorrelationId,
    (approval, answer): (String, GivenAnswer),
    budget: Duration,
) -> Result<Response, Reply> {
    respond(app, caller, correlation, TurnRequest::Answer { approval, answer }, None, budget).await
}
