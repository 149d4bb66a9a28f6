//! The HTTP surface.

use std::io;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, RawPathParams, RawQuery, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
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
use crate::refusal::Refusal;
use crate::wire::{RESPONSES, Wire};

const LARGEST_BODY: usize = 32 << 20;

/// The APIs of the program's mock model.
pub const WIRES: &[&Wire] = &[&RESPONSES];

#[derive(Clone)]
struct Model {
    provider: Provider,
    recorder: Recorder,
    wires: &'static [&'static Wire],
    memory: Arc<Memory>,
}

/// Returns the routes of a mock model that imitates this provider and offers these APIs. The recorder shows the requests.
pub fn router(provider: Provider, recorder: Recorder, wires: &'static [&'static Wire]) -> Router {
    let model = Model { provider, recorder, wires, memory: Arc::new(Memory::default()) };
    let routes = wires.iter().fold(Router::new(), |routes, wire| {
        routes.route(
            wire.path,
            post(move |model, path, query, headers, body| reply(wire, model, path, query, headers, body)),
        )
    });
    routes
        .route("/v1/responses/{id}", get(stored).delete(remove))
        .route("/v1/embeddings", post(embeddings))
        .route("/v1/models", get(models))
        .route("/scripted/requests", get(requests).delete(forget))
        .fallback(unknown)
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .with_state(model)
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
    wires: &'static [&'static Wire],
) -> io::Result<()> {
    axum::serve(listener, router(provider, recorder, wires)).await
}

/// Lists the one model. Requests for any other name are answered too.
async fn models(State(model): State<Model>, headers: HeaderMap) -> Response {
    let profile = model.provider.profile();
    let is_authorized = model.wires.iter().any(|wire| (wire.authorize)(profile, &headers).is_ok());
    match profile.authorize(&headers) {
        Err(refusal) if !is_authorized => refusal.with_layout(profile.errors).into_response(),
        _ => Json(json!({ "object": "list", "data": [{ "id": "scripted", "object": "model" }] }))
            .into_response(),
    }
}

async fn requests(State(model): State<Model>) -> Json<Value> {
    Json(model.recorder.shown())
}

async fn forget(State(model): State<Model>) -> StatusCode {
    model.recorder.clear();
    StatusCode::NO_CONTENT
}

/// Refuses a path that no API has, such as one that only the mock models of tests offer.
async fn unknown(State(model): State<Model>, method: Method, uri: Uri) -> Response {
    let offered: Vec<&str> = model.wires.iter().map(|wire| wire.path).collect();
    let message =
        format!("Unknown route {method} {}. This mock model offers POST {}.", uri.path(), offered.join(", "));
    let refusal = Refusal { status: 404, param: None, ..Refusal::invalid("unknown_route", "", message) };
    refusal.with_layout(model.provider.profile().errors).into_response()
}

/// Answers a request for a reply. A model in the path is a member of the request, as published.
async fn reply(
    wire: &'static Wire,
    State(model): State<Model>,
    path: RawPathParams,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let mut json: Value = serde_json::from_slice(&body).unwrap_or_default();
    if let (Some(members), Some((_, id))) = (json.as_object_mut(), path.iter().next()) {
        members.insert("modelId".to_owned(), id.into());
    }
    // A probe of the endpoint, which is refused like any other wrong type.
    let is_probe = json.get(wire.conversation).is_some_and(Value::is_number);
    if !is_probe {
        model.recorder.note(Moment::Received);
        model.recorder.record(query.as_deref(), &headers, &body, &json);
    }
    let profile = model.provider.profile();
    let layout = wire.errors.unwrap_or(profile.errors);
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
            play::streamed(wire.media_type, emissions, bill, stored, model.recorder)
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
