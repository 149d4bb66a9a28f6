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
    rate_limits::with_rate_limits,
    request::{Input, Parent},
    retry::IDEMPOTENCY_KEY,
    start::{no_calls, resume, retry_count, start_chat},
};
use runtime::{AuthenticatedCaller, Correlation, api::RemainingTime};
use service::app::App;

use super::{context::Context, files, without_query};

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
    let (rate_limits, now) = (context.rate_limits.clone(), context.now);
    let is_retry = retry_count(&headers)?.is_some_and(|count| count > 0);
    let response = run(context, &request, is_retry).await;
    Ok(with_rate_limits(response, rate_limits.get(), now))
}

/// Runs the turn of a request, or resumes it.
async fn run(context: Context, request: &ChatRequest, is_retry: bool) -> Result<Response, ApiError> {
    let (created, stream) = (context.created(), request.create.stream);
    let form = |response: ResponseId| {
        let completion = Completion { response, created, model: request.model.clone() };
        Form::Chat { completion, include_usage: request.include_usage }
    };
    match &request.create.input {
        Input::Outputs(outputs) => {
            let caller = request.caller.clone().ok_or_else(|| no_calls(outputs))?;
            let resumed = resume(&context, &Parent::Response(caller), outputs).await?;
            deliver(resumed.started, form(resumed.id), stream, context.app.keep_alive).await
        }
        Input::Message(message) => {
            let message = files::with_contents(&context, message).await?;
            let (ids, started) = start_chat(&context, request, &message, is_retry).await?;
            deliver(started, form(ids), stream, context.app.keep_alive).await
        }
    }
}
