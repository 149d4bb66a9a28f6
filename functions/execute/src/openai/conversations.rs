//! `POST /v1/conversations` and `DELETE /v1/conversations/{id}`. A conversation is a session.

use axum::{
    body::Bytes,
    extract::{Path, State, rejection::BytesRejection},
    http::Uri,
    response::Response,
};
use contracts::id::SessionId;
use openai_api::{
    delivery::refused,
    error::ApiError,
    files::unix_seconds,
    http::json,
    id::{conversation, parse_conversation},
    request::check_conversation,
};
use runtime::{AuthenticatedCaller, Correlation, api::RemainingTime};
use serde_json::json;
use service::app::{App, Invocation};
use turns::flow::{SessionOperation, change_session};

use super::without_query;

/// Creates the id of a conversation. The first response creates the session itself.
pub(super) async fn create(
    AuthenticatedCaller(_): AuthenticatedCaller,
    uri: Uri,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    without_query(&uri)?;
    check_conversation(&body?)?;
    let id = SessionId::new(uuid::Uuid::new_v4().simple().to_string());
    let id = id.map_err(|_| contracts::Error::from(contracts::ErrorCode::Internal))?;
    let object = json!({
        "id": conversation(&id), "object": "conversation", "created_at": unix_seconds(), "metadata": {},
    });
    Ok(json(200, &object))
}

/// Deletes a conversation with its responses.
pub(super) async fn delete(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Correlation(correlation): Correlation,
    RemainingTime(budget): RemainingTime,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, ApiError> {
    without_query(&uri)?;
    let not_found = || ApiError::conversation_not_found("id", &id);
    let session = parse_conversation(&id).ok_or_else(not_found)?;
    let invocation = Invocation { budget, correlation: Some(correlation) };
    let operation = SessionOperation::Delete(&invocation);
    let deleted = change_session(&app.adapters, app.session_policy, &caller, &session, &operation).await;
    deleted.map_err(|refusal| refused(&refusal))?;
    Ok(json(200, &json!({"id": id, "object": "conversation.deleted", "deleted": true})))
}

/// Refuses items that no response brings, since each turn has an answer.
pub(super) async fn add_items(AuthenticatedCaller(_): AuthenticatedCaller) -> ApiError {
    ApiError::unsupported("items", "Send them as the input of a response of this conversation.")
}
