//! The HTTP surface.

use std::io;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::answer::{self, Answer};
use crate::embedding;
use crate::memory::Memory;
use crate::play;
use crate::provider::Provider;
use crate::recorder::{Moment, Recorder};
use crate::refusal::{Layout, Refusal};
use crate::signature::{self, SignatureCheck};
use crate::wire::Wire;

const LARGEST_BODY: usize = 32 << 20;

#[derive(Clone)]
struct Model {
    provider: Provider,
    recorder: Recorder,
    memory: Arc<Memory>,
}

/// Returns the routes of the mock model, which imitates this provider. The recorder shows the requests.
pub fn router(provider: Provider, recorder: Recorder) -> Router {
    let model = Model { provider, recorder, memory: Arc::new(Memory::default()) };
    Router::new()
        .route("/v1/responses", post(responses))
        .route("/v1/chat/completions", post(completions))
        .route("/v1/messages", post(messages))
        .route("/v1/model/{model}/converse-stream", post(converse))
        .route("/v1/responses/{id}", get(stored).delete(remove))
        .route("/v1/embeddings", post(embeddings))
        .route("/v1/models", get(models))
        .route("/scripted/requests", get(requests).delete(forget))
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .with_state(model)
}

/// Returns the routes of a mock model that accepts signed requests alone.
pub fn signed_router(provider: Provider, recorder: Recorder, check: SignatureCheck) -> Router {
    router(provider, recorder).layer(middleware::from_fn_with_state(Arc::new(check), signature::verify))
}

/// Serves the routes until the future is dropped.
///
/// # Errors
///
/// The listener's own.
pub async fn serve(
    listener: tokio::net::TcpListener,
    provider: Provider,
    recorder: Recorder,
) -> io::Result<()> {
    axum::serve(listener, router(provider, recorder)).await
}

/// Lists the one model. Requests for any other name are answered too.
async fn models(State(model): State<Model>, headers: HeaderMap) -> Response {
    let profile = model.provider.profile();
    let is_authorized = answer::authorize(profile, &headers);
    match is_authorized.or_else(|refusal| answer::authorize_messages(&headers).map_err(|_| refusal)) {
        Ok(()) => Json(json!({ "object": "list", "data": [{ "id": "scripted", "object": "model" }] }))
            .into_response(),
        Err(refusal) => refusal.with_layout(profile.errors).into_response(),
    }
}

async fn requests(State(model): State<Model>) -> Json<Value> {
    Json(model.recorder.shown())
}

async fn forget(State(model): State<Model>) -> StatusCode {
    model.recorder.clear();
    StatusCode::NO_CONTENT
}

async fn responses(model: State<Model>, query: RawQuery, headers: HeaderMap, body: Bytes) -> Response {
    reply(Wire::Responses, model, query, headers, body).await
}

async fn completions(model: State<Model>, query: RawQuery, headers: HeaderMap, body: Bytes) -> Response {
    reply(Wire::Chat, model, query, headers, body).await
}

async fn messages(model: State<Model>, query: RawQuery, headers: HeaderMap, body: Bytes) -> Response {
    reply(Wire::Messages, model, query, headers, body).await
}

/// Answers a request of the Converse API. The path's model is a member of the operation's input, as published.
async fn converse(
    model: State<Model>,
    Path(model_id): Path<String>,
    query: RawQuery,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let mut input: Value = serde_json::from_slice(&body).unwrap_or_default();
    if let Some(members) = input.as_object_mut() {
        members.insert("modelId".to_owned(), model_id.into());
    }
    reply_to(Wire::Converse, model, query, headers, body, input).await
}

async fn reply(
    wire: Wire,
    model: State<Model>,
    query: RawQuery,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let json = serde_json::from_slice(&body).unwrap_or_default();
    reply_to(wire, model, query, headers, body, json).await
}

async fn reply_to(
    wire: Wire,
    State(model): State<Model>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Bytes,
    json: Value,
) -> Response {
    // A probe of the endpoint, which is refused like any other wrong type.
    let is_probe = json.get(wire.conversation()).is_some_and(Value::is_number);
    if !is_probe {
        model.recorder.note(Moment::Received);
        model.recorder.record(query.as_deref(), &headers, &body, &json);
    }
    let profile = model.provider.profile();
    let layout = match wire {
        Wire::Responses | Wire::Chat => profile.errors,
        Wire::Messages => Layout::Typed,
        Wire::Converse => Layout::Aws,
    };
    let refused = |refusal: Refusal| refusal.with_layout(layout).into_response();
    let (delay, answer) = match answer::decide(profile, wire, &model.memory, &headers, &json) {
        Ok(decided) => decided,
        Err(refusal) => {
            if refusal.invalid_request && !is_probe {
                model.recorder.record_invalid(&refusal);
            }
            return refused(refusal);
        }
    };
    tokio::time::sleep(delay).await;
    match answer {
        Answer::Refused(refusal) => refused(refusal),
        Answer::Dropped => play::broken(),
        Answer::Streamed(emissions, bill, stored) => {
            let stored = stored.map(|stored| (stored, model.memory));
            play::streamed(wire.media_type(), emissions, bill, stored, model.recorder)
        }
        Answer::Buffered { response, takes, bill } => {
            model.recorder.charge(bill.whole(&response));
            tokio::time::sleep(takes).await;
            Json(response).into_response()
        }
    }
}

async fn stored(State(model): State<Model>, Path(id): Path<String>, headers: HeaderMap) -> Response {
    let profile = model.provider.profile();
    model.recorder.read(&id);
    match answer::read(profile, &model.memory, &headers, &id) {
        Ok(response) => Json(response).into_response(),
        Err(refusal) => refusal.with_layout(profile.errors).into_response(),
    }
}

async fn remove(State(model): State<Model>, Path(id): Path<String>, headers: HeaderMap) -> Response {
    let profile = model.provider.profile();
    let asked = match model.recorder.refuses_removals() {
        true => Err(Refusal::unavailable()),
        false => answer::remove(profile, &model.memory, &headers, &id),
    };
    match asked {
        Ok(()) => {
            model.recorder.removed(&id);
            Json(json!({ "id": id, "object": "response", "deleted": true })).into_response()
        }
        Err(refusal) => refusal.with_layout(profile.errors).into_response(),
    }
}

async fn embeddings(State(model): State<Model>, headers: HeaderMap, body: Bytes) -> Response {
    let json: Value = serde_json::from_slice(&body).unwrap_or_default();
    let embedded = embedding::embed(model.provider.profile(), &model.memory, &headers, &json);
    model.recorder.embedded(embedded.texts);
    tokio::time::sleep(embedded.delay).await;
    match embedded.answer {
        None => play::broken(),
        Some(Ok(response)) => response,
        Some(Err(refusal)) => refusal.with_layout(model.provider.profile().errors).into_response(),
    }
}
