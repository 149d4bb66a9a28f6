//! What every log line of a request says of it: one span around the whole of its work, its streamed answer
//! included.
//!
//! The span begins with what the request itself says. Who calls and what it is about are recorded by the extractors
//! that find it out, the attempt by the engine; until then the fields are absent.

use std::time::Duration;

use axum::{
    Router,
    extract::{MatchedPath, Request},
};
use contracts::id::{SessionId, TurnId};
use lambda_http::RequestExt;
use protocol::Caller;
use tower_http::trace::TraceLayer;
use tracing::{Span, field::Empty};

use crate::Correlation;

/// Puts the span around routes, and ends it with one wide event: ids and sizes, no contents (I14).
pub(crate) fn around(routes: Router) -> Router {
    routes.layer(
        TraceLayer::new_for_http()
            .make_span_with(of)
            .on_request(())
            .on_response(answered)
            .on_body_chunk(())
            .on_eos(())
            .on_failure(()),
    )
}

/// As severe as can be, so that it is there around every line that is logged, whatever the level.
fn of(request: &Request) -> Span {
    let path = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str);
    let span = tracing::error_span!(
        "request",
        correlation = Empty,
        request_id = Empty,
        method = %request.method(),
        path,
        org = Empty,
        user = Empty,
        session = Empty,
        turn = Empty,
        attempt = Empty,
    );
    if let Some(Correlation(id)) = request.extensions().get() {
        span.record("correlation", id.as_str());
    }
    if let Some(context) = request.lambda_context_ref() {
        span.record("request_id", context.request_id.as_str());
    }
    span
}

fn answered<B>(response: &http::Response<B>, latency: Duration, _: &Span) {
    tracing::info!(
        status = response.status().as_u16(),
        elapsed_ms = u64::try_from(latency.as_millis()).unwrap_or(u64::MAX),
        "request"
    );
}

/// Who calls is known.
pub(crate) fn called_by(caller: &Caller) {
    Span::current().record("org", caller.org.as_str()).record("user", caller.user.id.as_str());
}

/// The session that the request is about is known.
pub(crate) fn about_session(session: &SessionId) {
    Span::current().record("session", session.as_str());
}

/// The turn that the request is about is known.
pub(crate) fn about_turn(session: &SessionId, turn: &TurnId) {
    Span::current().record("session", session.as_str()).record("turn", turn.as_str());
}
