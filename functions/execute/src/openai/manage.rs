//! `DELETE /v1/responses/{id}` and `POST …/cancel`.

use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use openai_api::{
    delivery::refused,
    error::ApiError,
    http::json,
    id::{self, ResponseId},
    snapshot,
};
use protocol::Caller;
use runtime::{AuthenticatedCaller, Correlation, api::RemainingTime};
use serde_json::json;
use service::app::{App, Invocation, cancel_turn};
use turns::flow::{SessionOperation, TurnHead, change_session};

use super::without_query;

/// Deletes a response. Its session holds that turn alone, so it is deleted with it.
pub(super) async fn delete(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Correlation(correlation): Correlation,
    RemainingTime(budget): RemainingTime,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, ApiError> {
    without_query(&uri)?;
    let (response, head) = existing(&app, &caller, &id).await?;
    if head.turns > 1 {
        let message = format!(
            "This response is one of {} of its conversation. Delete the conversation: DELETE /v1/conversations/{}.",
            head.turns,
            id::conversation(&response.session)
        );
        return Err(ApiError::invalid("id", "unsupported_parameter", message));
    }
    let invocation = Invocation { budget, correlation: Some(correlation) };
    let operation = SessionOperation::Delete(&invocation);
    let deleted =
        change_session(&app.adapters, app.session_policy, &caller, &response.session, &operation).await;
    deleted.map_err(|refusal| refused(&refusal))?;
    Ok(json(200, &json!({"id": id, "object": "response", "deleted": true})))
}

/// Cancels the turn of a response, streamed or not. A turn that has ended keeps its outcome.
pub(super) async fn cancel(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Correlation(correlation): Correlation,
    RemainingTime(budget): RemainingTime,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, ApiError> {
    without_query(&uri)?;
    let (response, _) = existing(&app, &caller, &id).await?;
    let ResponseId { session, turn, round } = response.clone();
    let invocation = Invocation { budget, correlation: Some(correlation) };
    let cancelled = cancel_turn(&app.adapters, &caller, session.clone(), turn.clone(), &invocation).await;
    cancelled.map_err(|refusal| refused(&refusal))?;
    let snapshot = app.reader.turn_snapshot(&caller, session, turn).await;
    let snapshot = snapshot.map_err(|refusal| refused(&refusal))?;
    let outcome = snapshot::outcome(round, &snapshot).ok_or_else(|| ApiError::response_not_found(&id))?;
    let frame = snapshot::frame(response, &snapshot);
    let object = outcome.map_or_else(|| frame.in_progress(), |outcome| frame.with_outcome(&outcome));
    Ok(json(200, &object))
}

/// Returns a response that exists for this caller, with the head of its turn.
async fn existing(app: &App, caller: &Caller, id: &str) -> Result<(ResponseId, TurnHead), ApiError> {
    let not_found = || ApiError::response_not_found(id);
    let response = ResponseId::parse(id).ok_or_else(not_found)?;
    runtime::record_turn(&response.session, &response.turn);
    let head = app.reader.turn_head(caller, response.session.clone(), response.turn.clone()).await;
    let head = head.map_err(|refusal| refused(&refusal))?;
    let head = head.filter(|head| !head.is_deleted && response.round <= head.round).ok_or_else(not_found)?;
    Ok((response, head))
}
