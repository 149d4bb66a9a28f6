//! What surrounds the routes of every API function: limits, CORS, the envelope of last resort, the request's
//! ids, and the span that its log lines stand in.

use std::{
    any::Any,
    convert::Infallible,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use axum::{
    Router,
    extract::{DefaultBodyLimit, FromRequestParts, Request},
    http::{HeaderValue, header, request::Parts},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use contracts::{Error, ErrorCode, request::limits::MAX_BODY_BYTES};
use lambda_http::RequestExt;
use settings::Env;
use tower_http::{catch_panic::CatchPanicLayer, set_header::SetResponseHeaderLayer};

use crate::{Reply, correlation, plain, prompt, query, span, whole};

/// How answers leave a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// As they come.
    Streamed,
    /// Whole, for what reads no others on a developer's machine.
    Whole,
}

impl Answers {
    /// As the settings say.
    pub fn read(env: &mut Env) -> Self {
        if env.read(&settings::BUFFERED_RESPONSES) { Self::Whole } else { Self::Streamed }
    }
}

/// Runs an API function until the Lambda service ends the process.
///
/// # Errors
/// When the Runtime API is gone.
pub async fn serve(routes: Router, answers: Answers) -> Result<(), lambda_http::Error> {
    match answers {
        Answers::Streamed => prompt::serve(around(routes)).await,
        Answers::Whole => whole::serve(around(routes)).await,
    }
}

/// Wraps the routes.
pub fn around(routes: Router) -> Router {
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
        // One byte more than the contract takes: a body that is too long is refused there, by name.
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES + 1))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(middleware::from_fn(query::known))
        .layer(middleware::from_fn(plain::where_asked_for));
    span::around(routes)
        .layer(middleware::from_fn(with_request_id))
        .layer(middleware::from_fn(correlation::carried))
        .layer(SetResponseHeaderLayer::if_not_present(
            header::ACCESS_CONTROL_ALLOW_ORIGIN,
            HeaderValue::from_static("*"),
        ))
        .layer(SetResponseHeaderLayer::if_not_present(
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("Retry-After, Location, ETag, X-Request-Id, X-Correlation-ID"),
        ))
        .layer(SetResponseHeaderLayer::if_not_present(
            header::CACHE_CONTROL,
            HeaderValue::from_static("no-store"),
        ))
        .layer(SetResponseHeaderLayer::if_not_present(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ))
}

/// What is left of the function's time for this request; a minute where nobody says.
#[derive(Debug, Clone, Copy)]
pub struct TimeLeft(pub Duration);

impl<S: Send + Sync> FromRequestParts<S> for TimeLeft {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let deadline = parts.lambda_context_ref().map(|context| Duration::from_millis(context.deadline));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // A deadline that is over before the work begins is nobody's word: `cargo lambda watch` says 1970.
        let left = deadline.and_then(|deadline| deadline.checked_sub(now));
        Ok(Self(left.unwrap_or(Duration::from_secs(60))))
    }
}

/// Says in the answer how Lambda names the request.
async fn with_request_id(request: Request, next: Next) -> Response {
    let request_id = request.lambda_context_ref().map(|context| context.request_id.clone());
    let mut response = next.run(request).await;
    if let Ok(id) = HeaderValue::try_from(request_id.unwrap_or_default()) {
        response.headers_mut().insert("x-request-id", id);
    }
    response
}

fn panicked(_: Box<dyn Any + Send>) -> Response {
    tracing::error!("a handler panicked");
    Reply::error(Error::new(ErrorCode::Internal, "The service failed. Send the request again, unchanged."))
        .into_response()
}
