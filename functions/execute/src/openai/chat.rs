//! `POST /v1/chat/completions`: runs a turn after the history that the request repeats.

use axum::{
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::{HeaderMap, Uri},
    response::Response,
};
use openai_api::{
    chat::{ChatRequest, Completion},
    delivery::{Form, deliver},
    error::ApiError,
    id::ResponseId,
    request::{Input, Parent},
    retry::IDEMPOTENCY_KEY,
};
use runtime::{AuthenticatedCaller, Correlation, api::RemainingTime};
use service::app::App;

use super::{
    chat_history,
    context::{Context, no_calls},
    retry::retry_count,
    without_query,
};

pub(super) async fn complete(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    correlation: Correlation,
    RemainingTime(budget): RemainingTime,
    uri: Uri,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    without_query(&uri)?;
    let request = ChatRequest::parse(&body?)?;
    if headers.contains_key(IDEMPOTENCY_KEY) {
        let alternative = "A chat is recognized by its messages. Use /v1/responses to name a request.";
        return Err(ApiError::unsupported("Idempotency-Key", alternative));
    }
    let context = Context::new(app, caller, correlation, budget);
    let (created, stream) = (context.created(), request.create.stream);
    let form = |response: ResponseId| {
        let completion = Completion { response, created, model: request.model.clone() };
        Form::Chat { completion, include_usage: request.include_usage }
    };
    match &request.create.input {
        Input::Outputs(outputs) => {
            let caller = request.caller.clone().ok_or_else(|| no_calls(outputs))?;
            context.resume(&Parent::Response(caller), outputs, stream, |id, _| form(id)).await
        }
        Input::Message(message) => {
            let is_retry = retry_count(&headers).is_some_and(|count| count > 0);
            let (ids, started) = chat_history::start(&context, &request, message, is_retry).await?;
            deliver(started, form(ids), stream, context.app.keep_alive).await
        }
    }
}
