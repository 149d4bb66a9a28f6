//! `POST /v1/responses/compact` and `POST /v1/responses/input_tokens`: the length of a history, and a shorter one.

use axum::{
    body::{Bytes, to_bytes},
    extract::rejection::BytesRejection,
    http::{HeaderMap, Uri},
    response::Response,
};
use histories::{Started, start_apart};
use openai_api::{
    delivery::{Form, deliver},
    error::ApiError,
    http::json,
    request::{CreateResponse, Input, compaction, input_tokens},
    response::Frame,
    start::start_response,
};
use runtime::AuthenticatedCaller;
use serde_json::{Value, json};

use super::{context::Context, files, without_query};

/// The most bytes of the response of a turn.
const MAX_RESPONSE_BYTES: usize = 6 << 20;

/// Estimates the input tokens of a request.
pub(super) async fn count(
    AuthenticatedCaller(_): AuthenticatedCaller,
    uri: Uri,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    without_query(&uri)?;
    let tokens = input_tokens(&body?)?;
    Ok(json(200, &json!({"object": "response.input_tokens", "input_tokens": tokens})))
}

/// Summarizes a history in a turn that isn't stored. The summary is a message, which a request may begin with.
pub(super) async fn compact(
    context: Context,
    uri: Uri,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    without_query(&uri)?;
    let body = body?;
    let request = CreateResponse::parse(&compaction::request(context.body(&body).await?)?)?;
    context.admit(&request.ignored).await?;
    let (ids, started) = match &request.input {
        Input::Message(message) => {
            let message = files::with_contents(&context.app, &context.caller, context.now, message).await?;
            start_response(&context, (&request, &message), &headers, &body).await?
        }
        Input::Chat(messages, hints) => {
            let chat = request.chat(messages, hints, false);
            let Started { id, start, .. } = start_apart(&context, &chat).await?;
            (id.into(), start)
        }
        Input::Outputs(..) => {
            return Err(ApiError::value("input", "must be a history without outputs that a turn waits for"));
        }
    };
    let frame = Frame::new(ids, context.created(), &request.options.repeated, "");
    let response = deliver(started, Form::Response(frame), false, context.app.keep_alive).await?;
    let body = to_bytes(response.into_body(), MAX_RESPONSE_BYTES).await;
    let body = body.map_err(|_| contracts::Error::from(contracts::ErrorCode::Internal))?;
    let response: Value = serde_json::from_slice(&body).unwrap_or_default();
    let object = compaction::object(&response).ok_or(contracts::ErrorCode::Internal);
    Ok(request.ignored.warn(json(200, &object.map_err(contracts::Error::from)?)))
}
