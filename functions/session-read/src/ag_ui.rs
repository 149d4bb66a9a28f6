//! AG-UI under `/v1/ag-ui`, as far as it reads: the routes of CopilotKit's runtime about agents and threads.

use ag_ui_api::{
    error::ApiError,
    history,
    http::{json, translate_errors, unknown},
    request::StoredRun,
    thread::{self, Thread},
};
use axum::{
    Router,
    extract::{Path, Query, State},
    middleware,
    response::Response,
    routing::{any, get},
};
use contracts::{id::SessionId, read::AgentSessionSummary};
use fronts::{MemberError, refused};
use futures::{StreamExt, TryStreamExt, stream};
use protocol::Caller;
use runtime::{AuthenticatedCaller, query::ListScope};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use turns::{
    flow::{SessionFilter, TurnSnapshot},
    ports::{Order, TypedDocuments, Unavailable},
    refusal::Refusal,
};

use crate::{app::App, openai::agents};

/// The path of the list of threads.
const THREADS: &str = "/v1/ag-ui/threads";
/// The threads of a page unless the request says how many.
const DEFAULT_THREADS: u32 = 20;
/// The most threads of a page.
const MAX_THREADS: u32 = 50;
/// Threads that are read concurrently.
const CONCURRENT_READS: usize = 4;

/// Returns the routes.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v1/ag-ui/info", get(info))
        .route(THREADS, get(list))
        .route("/v1/ag-ui/threads/{thread}/messages", get(messages))
        .route("/v1/ag-ui/threads/{thread}/state", get(state))
        .route("/v1/ag-ui", any(unknown))
        .route("/v1/ag-ui/{*path}", any(unknown))
        .layer(middleware::from_fn(translate_errors))
}

/// Returns the agents of the org, and what this runtime has.
async fn info(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
) -> Result<Response, ApiError> {
    let unavailable = |error: Unavailable| refused::<ApiError>(&error.into());
    let settings = app.documents.org_settings(&caller.org).await.map_err(unavailable)?;
    let agents = agents(&app, &caller, &settings).await.map_err(unavailable)?;
    let agents = agents.into_iter().map(|(agent, description)| {
        let description = description.unwrap_or_default();
        let shown = json!({"name": agent, "description": description, "className": "HttpAgent"});
        (agent, shown)
    });
    let agents: Map<String, Value> = agents.collect();
    // Without events of each thread, its inspector can't show one.
    let threads = json!({"list": true, "inspect": false, "mutations": false, "realtimeMetadata": false});
    Ok(json(
        200,
        &json!({
            "version": env!("CARGO_PKG_VERSION"),
            "agents": agents,
            "audioFileTranscriptionEnabled": false,
            "mode": "sse",
            "threadEndpoints": threads,
            "suggestions": false,
            "a2uiEnabled": false,
            "openGenerativeUIEnabled": false,
            "telemetryDisabled": true,
        }),
    ))
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThreadQuery {
    agent_id: Option<String>,
    limit: Option<u32>,
    cursor: Option<String>,
    #[serde(rename = "includeArchived")]
    _include_archived: Option<String>,
}

/// Lists the caller's threads, newest activity first: the sessions that the caller began or took part in.
async fn list(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    query: Result<Query<ThreadQuery>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(query) = query.map_err(|_| ApiError::member("limit", "must be a number from 1 to 50"))?;
    let limit = query.limit.unwrap_or(DEFAULT_THREADS);
    if !(1..=MAX_THREADS).contains(&limit) {
        return Err(ApiError::member("limit", "must be a number from 1 to 50"));
    }
    let scope = ListScope::unfiltered(THREADS);
    let position = query.cursor.map(|cursor| app.open_token(&caller, &scope, &cursor)).transpose();
    let position = position.map_err(|_| ApiError::member("cursor", "is no cursor of this list"))?;
    let filter = SessionFilter { user: Some(caller.user.id.clone()), ..SessionFilter::default() };
    let list = app.reader.sessions(&caller, &filter, limit, position).await;
    let mut list = list.map_err(|refusal| refused::<ApiError>(&refusal))?.result;
    app.seal_page_token(&caller, &scope, &mut list.continuation_token);
    let sessions = list.items.into_iter();
    let sessions =
        sessions.filter(|session| query.agent_id.as_ref().is_none_or(|wanted| wanted == agent_of(session)));
    let threads = sessions.map(|session| Box::pin(thread(&app, &caller, session)));
    let threads: Result<Vec<Option<Value>>, Refusal> =
        stream::iter(threads).buffered(CONCURRENT_READS).try_collect().await;
    let threads = threads.map_err(|refusal| refused::<ApiError>(&refusal))?;
    let threads: Vec<Value> = threads.into_iter().flatten().collect();
    Ok(json(200, &json!({"threads": threads, "nextCursor": list.continuation_token})))
}

fn agent_of(session: &AgentSessionSummary) -> &str {
    session.agent_context_id.as_ref().map_or("default", |agent| agent.as_str())
}

/// Returns a session as a thread. A thread that another API began has the id of its session. `None` for a session that
/// another user began.
async fn thread(app: &App, caller: &Caller, session: AgentSessionSummary) -> Result<Option<Value>, Refusal> {
    let first = match first_turn(app, caller, &session.id).await {
        Ok(first) => first,
        Err(refusal @ Refusal::Unavailable(_)) => return Err(refusal),
        // It was deleted meanwhile, or its content is purged.
        Err(_) => None,
    };
    let stored = first.as_ref().map(|first| StoredRun::of(first.request.options.as_deref()));
    let created = first.map_or(session.last_updated_date, |first| first.created);
    // A fork has the first turn of another thread.
    let named = stored.and_then(|stored| stored.thread);
    let mut id = None;
    for candidate in named.into_iter().chain([session.id.to_string()]) {
        let found = thread::find(&app.reader, &app.id_keys, caller, (&candidate, "")).await?;
        if found.session == session.id {
            id = Some(candidate);
            break;
        }
    }
    let Some(id) = id else { return Ok(None) };
    let updated = session.last_turn_date.unwrap_or(session.last_updated_date);
    Ok(Some(json!({
        "id": id,
        "name": session.name,
        "agentId": agent_of(&session),
        "organizationId": caller.org.as_str(),
        "createdById": caller.user.id.as_str(),
        "archived": false,
        "createdAt": created,
        "updatedAt": updated,
    })))
}

async fn first_turn(
    app: &App,
    caller: &Caller,
    session: &SessionId,
) -> Result<Option<TurnSnapshot>, Refusal> {
    let first = app.reader.turn_ids(caller, session.clone(), Order::OldestFirst, None, 1).await?.pop();
    let Some(first) = first else { return Ok(None) };
    app.reader.turn_snapshot(caller, session.clone(), first).await.map(Some)
}

async fn messages(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Path(thread): Path<String>,
) -> Result<Response, ApiError> {
    let history = read(&app, &caller, &thread).await?;
    let messages: Vec<Value> = history.messages.into_iter().map(flat_calls).collect();
    Ok(json(200, &json!({"messages": messages})))
}

async fn state(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Path(thread): Path<String>,
) -> Result<Response, ApiError> {
    Ok(json(200, &json!({"state": read(&app, &caller, &thread).await?.state})))
}

async fn read(app: &App, caller: &Caller, thread: &str) -> Result<history::History, ApiError> {
    let found = thread::find(&app.reader, &app.id_keys, caller, (thread, "")).await;
    let Thread { session, is_known, .. } = found.map_err(|refusal| refused::<ApiError>(&refusal))?;
    if !is_known {
        return Err(thread::not_found(thread));
    }
    let history = history::read(&app.reader, caller, &session, None).await;
    history.map_err(|refusal| refused(&refusal))
}

/// Returns a message as this route has it: its calls have `name` and `args`.
fn flat_calls(mut message: Value) -> Value {
    if let Some(Value::Array(calls)) = message.get_mut("toolCalls") {
        for call in calls {
            *call = json!({
                "id": call.get("id"),
                "name": call.pointer("/function/name"),
                "args": call.pointer("/function/arguments"),
            });
        }
    }
    message
}
