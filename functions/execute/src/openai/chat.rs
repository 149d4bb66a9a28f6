//! `POST /v1/chat/completions`: runs a turn after the history that the request repeats.

use axum::{
    body::Bytes,
    extract::rejection::BytesRejection,
    http::{HeaderMap, Uri},
    response::Response,
};
use histories::start_chat;
use openai_api::{
    chat::ChatRequest,
    delivery::{Form, deliver},
    error::ApiError,
    rate_limits::with_rate_limits,
    retry::IDEMPOTENCY_KEY,
    start::retry_count,
};

use super::{context::Context, without_query};

pub(super) async fn complete(
    context: Context,
    uri: Uri,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    without_query(&uri)?;
    let is_retry = retry_count(&headers)?.is_some_and(|count| count > 0);
    let request = ChatRequest::parse(&context.body(&body?).await?, is_retry)?;
    if headers.contains_key(IDEMPOTENCY_KEY) {
        let alternative = "A chat is recognized by its messages. Use /v1/responses to name a request.";
        return Err(ApiError::unsupported("Idempotency-Key", alternative));
    }
    let (rate_limits, now) = (context.rate_limits.clone(), context.now);
    let response = run(context, &request).await;
    Ok(request.ignored.warn(with_rate_limits(response, rate_limits.get(), now)))
}

/// Runs the turn of a request, or resumes it.
async fn run(context: Context, request: &ChatRequest) -> Result<Response, ApiError> {
    context.admit(&request.ignored).await?;
    let started = start_chat(&context, &request.chat).await?;
    let completion = request.completion(started.id.into(), context.created());
    let form = Form::Chat { completion, include_usage: request.include_usage };
    deliver(started.start, form, request.chat.is_streamed, context.app.keep_alive).await
}
