//! `resources/list` and `resources/read`.

use axum::response::Response;
use contracts::{
    id::{SessionId, TurnId},
    request::limits::{DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE},
};
use fronts::{Outcome, refused};
use mcp_api::{
    error::RpcError,
    message::Request,
    resource::{self, Uri},
    server::{Caching, respond},
};
use runtime::query::ListScope;
use serde::Serialize;
use turns::{
    flow::{SessionFilter, TurnsPage},
    ports::Order,
    refusal::Refusal,
    text_search::SearchTerms,
};

use super::{open_page, seal_page};
use crate::openai::context::Context;

pub(super) async fn list(context: &Context, request: &Request) -> Result<Response, RpcError> {
    let scope = ListScope::unfiltered("mcp/resources");
    let position = open_page(context, &scope, request.cursor()?)?;
    let (reader, filter) = (&context.app.reader, SessionFilter::default());
    let sessions = reader.sessions(&context.caller, &filter, DEFAULT_PAGE_SIZE, position).await;
    let sessions = sessions.map_err(|refusal| refused::<RpcError>(&refusal))?.result;
    let next = seal_page(context, &scope, sessions.continuation_token.as_deref());
    Ok(respond(request, resource::list(&sessions.items, next.as_deref()), Caching::Stale))
}

pub(super) async fn read(context: &Context, request: &Request) -> Result<Response, RpcError> {
    let text = request.text("uri")?;
    let not_found = || RpcError::resource_not_found(request.era, text);
    let uri = Uri::parse(text).ok_or_else(not_found)?;
    let content = match &uri {
        Uri::Session(session) => read_session(context, session.clone()).await,
        Uri::Turn { session, turn } => read_turn(context, session.clone(), turn.clone()).await,
        Uri::Answer { session, turn } => read_answer(context, session.clone(), turn.clone()).await,
        Uri::Search { query, token } => return search(context, request, &uri, query, token.as_deref()).await,
    };
    let content = content.map_err(|refusal| match refusal {
        Refusal::SessionNotFound | Refusal::TurnNotFound => not_found(),
        refusal => refused(&refusal),
    })?;
    Ok(respond(request, resource::contents(&uri, &content), Caching::Stale))
}

async fn read_session(context: &Context, session: SessionId) -> Result<String, Refusal> {
    let latest = TurnsPage { order: Order::NewestFirst, size: MAX_PAGE_SIZE, token: None };
    let mut session = context.app.reader.session(&context.caller, session, latest).await?.result;
    // Their tokens would be those of other lists.
    (session.continuation_token, session.mode_history_continuation_token) = (None, None);
    Ok(json(&session))
}

async fn read_turn(context: &Context, session: SessionId, turn: TurnId) -> Result<String, Refusal> {
    context.app.reader.turn(&context.caller, session, turn).await.map(|turn| json(&turn))
}

/// Returns the text of an answer. A turn without one has no such resource.
async fn read_answer(context: &Context, session: SessionId, turn: TurnId) -> Result<String, Refusal> {
    let snapshot = context.app.reader.turn_snapshot(&context.caller, session, turn).await?;
    let response = snapshot.response.filter(|_| !snapshot.head.is_deleted);
    match response.map(|response| Outcome::from_body(&response.to_bytes())) {
        Some(Outcome::Answer { text, .. }) => Ok(text),
        _ => Err(Refusal::TurnNotFound),
    }
}

async fn search(
    context: &Context,
    request: &Request,
    uri: &Uri,
    query: &str,
    token: Option<&str>,
) -> Result<Response, RpcError> {
    let terms = SearchTerms::parse(query).map_err(|rule| RpcError::invalid_params(format!("q {rule}.")))?;
    let scope = ListScope(format!("mcp/search?{query}"));
    let position = open_page(context, &scope, token)?;
    let (app, filter) = (&context.app, SessionFilter::default());
    let found = app.reader.search(
        &context.caller,
        &terms,
        &filter,
        DEFAULT_PAGE_SIZE,
        position.as_deref(),
        &app.index,
    );
    let mut found = found.await.map_err(|refusal| refused::<RpcError>(&refusal))?.result;
    found.continuation_token = seal_page(context, &scope, found.continuation_token.as_deref());
    Ok(respond(request, resource::contents(uri, &json(&found)), Caching::Stale))
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
