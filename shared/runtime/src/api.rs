//! Middleware around the routes of every API function: limits, CORS, the fallback envelope, request ids, and the span
//! that the request's log lines belong to.

use std::any::Any;

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request},
    http::{HeaderValue, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use contracts::{Error, ErrorCode, request::limits::MAX_BODY_BYTES};
use lambda_http::RequestExt;
use settings::Env;
use tower::ServiceExt;
use tower_http::{catch_panic::CatchPanicLayer, set_header::SetResponseHeaderLayer};

use crate::{
    Reply, base_path, buffered, correlation, memory, message_responder, negotiation, nodelay_responder,
    query, span, sqs::SqsHandler,
};

pub use crate::deadline::RemainingTime;

/// The response headers that a page of another origin may read.
pub const EXPOSED_HEADERS: &str =
    "Retry-After, Location, ETag, X-Request-Id, X-Correlation-ID, X-Aptix-Ignored, Mcp-Session-Id";

/// The delivery mode of HTTP responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseMode {
    /// Sends each chunk as soon as it's ready.
    Streaming,
    /// Buffers the response, for development tools that can't read a stream.
    Buffered,
}

impl ResponseMode {
    /// Reads the mode from the settings.
    pub fn read(env: &mut Env) -> Self {
        if env.read(&settings::BUFFERED_RESPONSES) { Self::Buffered } else { Self::Streaming }
    }
}

/// Serves the routes until the Lambda service ends the process. Takes the next invocation when the background work of
/// the last one has ended. Serves several invocations at a time where Lambda says so.
///
/// # Errors
/// Fails if the Runtime API is gone.
pub async fn serve(routes: Router, answers: ResponseMode) -> Result<(), lambda_http::Error> {
    serve_invocations(routes, None, answers).await
}

/// Serves as [`serve`] does, and handles the messages of a queue that is an event source of the function.
///
/// # Errors
/// Fails if the Runtime API is gone.
pub async fn serve_with_messages(
    routes: Router,
    handler: SqsHandler,
    answers: ResponseMode,
) -> Result<(), lambda_http::Error> {
    serve_invocations(routes, Some(handler), answers).await
}

async fn serve_invocations(
    routes: Router,
    handler: Option<SqsHandler>,
    answers: ResponseMode,
) -> Result<(), lambda_http::Error> {
    let (routes, messages) = (with_middleware(routes), message_responder::layer(handler));
    match answers {
        ResponseMode::Streaming => nodelay_responder::serve(routes, messages).await,
        ResponseMode::Buffered => buffered::serve(routes, messages).await,
    }
}

/// Wraps the routes in the shared middleware.
pub fn with_middleware(routes: Router) -> Router {
    let routes = routes
        .fallback(|| async {
            Reply::error(Error::new(
                ErrorCode::RouteNotFound,
                "There is no such path. See the API's OpenAPI document.",
            ))
        })
        .method_not_allowed_fallback(|| async {
            Reply::error(Error::new(
                ErrorCode::MethodNotAllowed,
                "This path does not take this method. See the API's OpenAPI document.",
            ))
        })
        // One byte more than the contract allows, so that the contract's own check reports a body that is too long.
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES + 1))
        .layer(middleware::from_fn(memory::refuse_without_memory))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(middleware::from_fn(query::reject_unknown_params))
        .layer(middleware::from_fn(negotiation::negotiate_plain_text));
    let routes = span::with_span(routes)
        .layer(middleware::from_fn(with_request_id))
        .layer(middleware::from_fn(correlation::propagate))
        .layer(SetResponseHeaderLayer::if_not_present(
            header::ACCESS_CONTROL_ALLOW_ORIGIN,
            HeaderValue::from_static("*"),
        ))
        .layer(SetResponseHeaderLayer::if_not_present(
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static(EXPOSED_HEADERS),
        ))
        .layer(SetResponseHeaderLayer::if_not_present(
            header::CACHE_CONTROL,
            HeaderValue::from_static("no-store"),
        ))
        .layer(SetResponseHeaderLayer::if_not_present(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ));
    // A layer would run after the routing, which needs the path.
    Router::new().fallback_service(routes.map_request(base_path::strip))
}

/// Returns Lambda's id of a request.
#[must_use]
pub fn request_id(request: &Request) -> Option<String> {
    request.lambda_context_ref().map(|context| context.request_id.clone())
}

/// Adds Lambda's id of the request to the response.
async fn with_request_id(request: Request, next: Next) -> Response {
    let request_id = request_id(&request);
    let mut response = next.run(request).await;
    if let Ok(id) = HeaderValue::try_from(request_id.unwrap_or_default()) {
        response.headers_mut().insert("x-request-id", id);
    }
    response
}

fn panicked(_: Box<dyn Any + Send>) -> Response {
    tracing::error!("{}", contracts::log::HANDLER_PANICKED);
    Reply::error(Error::new(ErrorCode::Internal, "The service failed. Send the request again, unchanged."))
        .into_response()
}
