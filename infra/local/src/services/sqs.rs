//! SQS: winterbaume, in memory, bridged to HTTP.
//!
//! A restart forgets every message. Nothing depends on a message but latency: the sweep finds what
//! was never announced.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};
use winterbaume_core::{MockRequest, MockService};
use winterbaume_sqs::SqsService;

/// A message is at most 1 MiB; quoted as JSON it can take twice that, and a batch has a few members more.
const MAX_REQUEST_BYTES: usize = 4 * 1024 * 1024;

/// An SQS with no queues yet.
pub(crate) fn router() -> Router {
    Router::new()
        .fallback(handle)
        .layer(DefaultBodyLimit::max(MAX_REQUEST_BYTES))
        .with_state(Arc::new(SqsService::new()))
}

async fn handle(
    State(service): State<Arc<SqsService>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let request = MockRequest { method: method.to_string(), uri: uri.to_string(), headers, body };
    let answer = service.handle(request).await;
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    *response.headers_mut() = answer.headers;
    response
}
