//! The OpenAI-compatible API under `/v1`, as far as it reads.

mod conversation_items;
mod files;
mod model_list;
mod vector_stores;

pub(crate) use model_list::agents;

use axum::{
    Router,
    extract::{Path, Request, State},
    http::Uri,
    middleware,
    response::Response,
    routing::{any, get},
};
use contracts::operations::OPENAI_BASE;
use futures::FutureExt;
use openai_api::{
    delivery::{self, refused, replay},
    error::ApiError,
    file_search::ReadPassages,
    files::unix_seconds,
    http::{Parameters, json, translate_errors},
    id::{ResponseId, parse_conversation},
    input_items::{self, Paging},
    request::{self, SEARCH_RESULTS},
    response::Outcome,
    snapshot,
    stream::Translator,
};
use protocol::Caller;
use runtime::AuthenticatedCaller;
use serde_json::{Value, json};
use turns::{
    flow::TurnSnapshot,
    stream::{self, ResponseStart, StartTimeouts},
    system::System,
};

use crate::app::App;

/// The longest list of input items.
const MAX_ITEMS: u64 = 100;
/// The default of `limit`.
const DEFAULT_ITEMS: u64 = 20;

/// Returns the routes.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route(OPENAI_BASE, get(base))
        .route("/v1/responses/{id}", get(response))
        .route("/v1/responses/{id}/input_items", get(items))
        .route("/v1/conversations/{id}", get(conversation_object))
        .route("/v1/conversations/{id}/items", get(conversation_items::list))
        .route("/v1/conversations/{id}/items/{item}", get(conversation_items::item))
        .route("/v1/files", get(files::list))
        .route("/v1/files/{id}", get(files::file))
        .route("/v1/files/{id}/content", get(files::content))
        .route("/v1/vector_stores", get(vector_stores::list))
        .route("/v1/vector_stores/{id}", get(vector_stores::store))
        .route("/v1/vector_stores/{id}/files", get(vector_stores::files))
        .route("/v1/vector_stores/{id}/files/{file}", get(vector_stores::file))
        .route("/v1/models", get(model_list::list))
        .route("/v1/models/{*model}", get(model_list::model))
        .route("/v1/{*path}", any(unknown))
        .layer(middleware::from_fn(translate_errors))
}

/// Says that the API is there. Some clients ask before their first request.
async fn base(AuthenticatedCaller(_): AuthenticatedCaller) -> Response {
    json(200, &json!({"object": "api", "models": "/v1/models"}))
}

async fn unknown(request: Request) -> ApiError {
    ApiError::path_not_found(request.method().as_str(), request.uri().path())
}

/// Returns a response, or its events after a sequence number.
async fn response(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, ApiError> {
    let known = ["stream", "starting_after", "include", "include_obfuscation"];
    let parameters = Parameters::read(&uri, &known)?;
    let (streams, after) = (parameters.flag("stream")?, parameters.number("starting_after")?);
    if parameters.flag("include_obfuscation")? {
        return Err(ApiError::unsupported("include_obfuscation", "Omit it."));
    }
    let (response, snapshot, outcome) = load(&app, &caller, &id).await?;
    let mut frame = snapshot::frame(response.clone(), &snapshot);
    if frame.has_search() {
        let includes_results = parameters.has("include", SEARCH_RESULTS);
        let passages = passages(&app, &caller, &response);
        frame = frame.with_search(snapshot::query(&snapshot), includes_results, passages);
    }
    let keep_alive = app.keep_alive;
    match (streams, outcome) {
        (false, Some(outcome)) => Ok(json(200, &frame.loaded().await.with_outcome(&outcome))),
        (false, None) => Ok(json(200, &frame.in_progress())),
        (true, Some(outcome)) => Ok(replay(frame, after, outcome, keep_alive)),
        (true, None) => {
            let translator = Translator::new(frame, after);
            follow(app, caller, response, translator).await
        }
    }
}

/// Returns a reader of the passages that the turn of a response has found. A response doesn't fail for want of them.
fn passages(app: &App, caller: &Caller, id: &ResponseId) -> ReadPassages {
    let (reader, caller, id) = (app.reader.clone(), caller.clone(), id.clone());
    ReadPassages::new(move || {
        let (reader, caller, id) = (reader.clone(), caller.clone(), id.clone());
        async move {
            let turn = reader.turn(&caller, id.session, id.turn).await;
            turn.map(|turn| turn.chunk_refs).unwrap_or_default()
        }
        .boxed()
    })
}

/// Returns the events of a response while its turn runs.
async fn follow(
    app: App,
    caller: Caller,
    ResponseId { session, turn, .. }: ResponseId,
    translator: Translator,
) -> Result<Response, ApiError> {
    let (writer, feed) = stream::open(true, translator.last_event());
    let keep_alive = app.keep_alive;
    let reading = Box::pin(async move {
        app.reader.follow(&caller, session, turn, &writer, &System::new(), &app.timing).await
    });
    let timeouts = StartTimeouts { streamed: keep_alive.heartbeat, buffered: keep_alive.whitespace_after };
    match feed.start(reading, timeouts).await {
        ResponseStart::Streaming(events) => Ok(delivery::follow(translator, events, keep_alive)),
        ResponseStart::Refused(refusal) => Err(refused(&refusal)),
        // A feed that is opened as a stream has no other result, unless the client has its end.
        ResponseStart::AlreadyDelivered(_) | ResponseStart::Complete(_) | ResponseStart::Pending(_) => {
            Ok(delivery::follow(translator, Box::pin(futures::stream::empty()), keep_alive))
        }
    }
}

/// Returns the input items of a response.
async fn items(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, ApiError> {
    let parameters = Parameters::read(&uri, &["limit", "order", "after", "include"])?;
    let paging = paging(&parameters)?;
    let (response, snapshot, _) = load(&app, &caller, &id).await?;
    let mut items = input_items::of_snapshot(&response, &snapshot);
    if paging.newest_first {
        items.reverse();
    }
    let mut page = paging.page();
    page.extend(items);
    page.finish()
        .map(|page| json(200, &page))
        .ok_or_else(|| ApiError::value("after", "names no item of the list"))
}

/// Reads the parameters of a list of items.
fn paging(parameters: &Parameters) -> Result<Paging<'_>, ApiError> {
    let newest_first = parameters.newest_first()?;
    let limit = parameters.number("limit")?.unwrap_or(DEFAULT_ITEMS);
    if !(1..=MAX_ITEMS).contains(&limit) {
        return Err(ApiError::value("limit", "must be from 1 to 100"));
    }
    let after = parameters.text("after").filter(|after| !after.is_empty());
    Ok(Paging { newest_first, after, limit: usize::try_from(limit).unwrap_or(usize::MAX) })
}

/// Loads a response, and its outcome unless its turn runs.
async fn load(
    app: &App,
    caller: &Caller,
    id: &str,
) -> Result<(ResponseId, TurnSnapshot, Option<Outcome>), ApiError> {
    let not_found = || ApiError::response_not_found(id);
    let response = ResponseId::parse(id).ok_or_else(not_found)?;
    let ResponseId { session, turn, round } = response.clone();
    runtime::record_turn(&session, &turn);
    let snapshot = app.reader.turn_snapshot(caller, session, turn).await;
    let snapshot = snapshot.map_err(|refusal| match refused(&refusal) {
        error if error.status == 404 => not_found(),
        error => error,
    })?;
    if snapshot.head.is_deleted {
        return Err(not_found());
    }
    let outcome = snapshot::outcome(round, &snapshot).ok_or_else(not_found)?;
    Ok((response, snapshot, outcome))
}

async fn conversation_object(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, ApiError> {
    Parameters::read(&uri, &[])?;
    let not_found = || ApiError::conversation_not_found("id", &id);
    let session = parse_conversation(&id).ok_or_else(not_found)?;
    let stored = conversation_items::stored(&app, &caller, &session).await?;
    let content = match &stored.metadata {
        Some(name) => conversation_items::read(&app, &caller, name).await?.unwrap_or_default(),
        None => Value::Null,
    };
    let summary = app.reader.session_summary(&caller, session.clone()).await;
    let created = match summary {
        Ok(found) if found.result.is_deleted => return Err(not_found()),
        Ok(found) => {
            u64::try_from(found.result.last_updated_date.as_millis().div_euclid(1_000)).unwrap_or_default()
        }
        // No response has created the session.
        Err(_) if stored.is_empty() => return Err(not_found()),
        Err(_) => unix_seconds(),
    };
    let created = content.get("created_at").and_then(Value::as_u64).unwrap_or(created);
    let metadata = content.get("metadata").cloned().unwrap_or_else(|| json!({}));
    Ok(json(200, &request::conversation_object(&session, created, &metadata)))
}
