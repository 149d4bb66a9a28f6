//! Anthropic's Messages API: runs turns, or resumes them with the results of their tools.

use anthropic_api::{
    error::ApiError,
    http::{chat_name, check_query, is_retry, json, translate_errors},
    message::Frame,
    rate_limits::with_rate_limits,
    request::{CreateMessage, Thread},
    thread::continued,
    tokens,
};
use axum::{
    Router,
    body::Bytes,
    extract::{Request, rejection::BytesRejection},
    http::{HeaderMap, Uri},
    middleware,
    response::Response,
    routing::{any, post},
};
use contracts::id::{AgentContextId, SessionId};
use fronts::{deliver, refused};
use histories::{Chat, TurnRound, Turns, start_chat};
use protocol::id::SessionKey;
use runtime::refuse_conditions;
use service::app::App;
use turns::flow::prompt_tokens;

use crate::openai::context::Context;

/// Returns the routes.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v1/messages", post(create))
        .route("/v1/messages/count_tokens", post(count_tokens))
        .route("/v1/messages/{*path}", any(unknown))
        .route_layer(middleware::from_fn(refuse_conditions))
        .layer(middleware::from_fn(translate_errors))
}

async fn unknown(request: Request) -> ApiError {
    ApiError::not_found(format!("No route {} {}", request.method(), request.uri().path()))
}

async fn create(
    context: Context,
    uri: Uri,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    check_query(&uri, &[])?;
    let mut request = CreateMessage::parse(&body?)?;
    request.chat.is_retry = is_retry(&headers)?;
    request.chat.name = chat_name(&headers).filter(|_| !request.chat.options.tools.is_empty());
    let is_agent = match request.ambiguous_model() {
        Some(name) => context.is_agent(name).await.map_err(|error| refused::<ApiError>(&error.into()))?,
        None => false,
    };
    if is_agent {
        request = request.with_agent();
    }
    let response = run(&context, request).await;
    Ok(with_rate_limits(response, context.rate_limits.get()))
}

/// Runs the turn of a request, or resumes it.
async fn run(context: &Context, request: CreateMessage) -> Result<Response, ApiError> {
    let (model, stops) = (request.model.clone(), request.stops.clone());
    let shows_thinking = request.shows_thinking;
    let chat = history(context, request).await?;
    let started = start_chat(context, &chat).await?;
    let frame = Frame { turn: started.id, model, stops, shows_thinking };
    deliver(started.start, frame, chat.is_streamed, context.app.keep_alive).await
}

/// Returns the request as one that brings its history. A thread's is stored.
async fn history(context: &Context, request: CreateMessage) -> Result<Chat, ApiError> {
    let Some(Thread::Continue(previous)) = request.thread.clone() else { return Ok(request.chat) };
    let first = TurnRound { round: 0, ..previous.clone() };
    let snapshot = context.snapshot(&first).await.map_err(|refusal| match refused::<ApiError>(&refusal) {
        error if error.status == 404 => ApiError::thread_not_found(),
        error => error,
    })?;
    continued(request, &previous, &snapshot)
}

async fn count_tokens(
    context: Context,
    uri: Uri,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    check_query(&uri, &[])?;
    let chat = CreateMessage::parse_count(&body?)?;
    let internal = || contracts::Error::from(contracts::ErrorCode::Internal);
    let session = SessionId::new(context.random()).map_err(|_| internal())?;
    let session = SessionKey { org: context.caller.org.clone(), session };
    // An id that no agent can have is no agent's.
    let agent = chat.agent.as_deref().map(AgentContextId::new).transpose();
    let agent = agent.map_err(|_| ApiError::not_found("model: no agent can have this id"))?;
    let prompt = prompt_tokens(&context.app.adapters, &session, agent, &chat.options).await;
    let prompt = prompt.map_err(|refusal| refused::<ApiError>(&refusal))?;
    Ok(json(200, &tokens::count(&chat, prompt)))
}
