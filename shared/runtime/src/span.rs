//! What every log line of a request says of it: one span around the whole of its work, its streamed answer
//! included. It is also the request's span in its trace.
//!
//! The span begins with what the request itself says. Who calls and what it is about are recorded by the extractors
//! that find it out, the attempt by the engine; until then the fields are absent.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::{Body, HttpBody},
    extract::{MatchedPath, Request},
    middleware::{self, Next},
    response::Response,
};
use bytes::Bytes;
use contracts::id::{SessionId, TurnId};
use futures::{StreamExt, future, stream};
use http::StatusCode;
use http_body::{Frame, SizeHint};
use lambda_http::RequestExt;
use opentelemetry::trace::{Status, TraceContextExt};
use protocol::Caller;
use tracing::{Instrument, Span, field::Empty};
use tracing_opentelemetry::OpenTelemetrySpanExt;

use crate::{Correlation, telemetry::traces};

/// Puts the span around routes, and ends it with one wide event: ids and sizes, no contents (I14).
pub(crate) fn around(routes: Router) -> Router {
    routes.layer(middleware::from_fn(within)).layer(middleware::from_fn(sent))
}

async fn within(request: Request, next: Next) -> Response {
    let (span, began) = (of(&request), Instant::now());
    let response = next.run(request).instrument(span.clone()).await;
    let status = response.status();
    span.set_attribute("http.response.status_code", i64::from(status.as_u16()));
    if status.is_server_error() {
        span.set_status(Status::error(""));
    }
    let (answered, bytes) = (began.elapsed(), 0);
    response.map(|body| Body::new(Answered { body, span, status, began, answered, bytes, is_told: false }))
}

/// Sends the spans before the answer ends.
async fn sent(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    if !traces::are_sent() {
        return response;
    }
    let flushed = || stream::once(traces::flush()).filter_map(|()| future::ready(None));
    response.map(|body| Body::from_stream(body.into_data_stream().chain(flushed())))
}

/// As severe as can be, so that it is there around every line that is logged, whatever the level.
fn of(request: &Request) -> Span {
    let path = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str);
    let span = tracing::error_span!(
        "request",
        otel.name = format!("{} {path}", request.method()),
        otel.kind = "server",
        trace_id = Empty,
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
    // Where nobody makes spans, there is no trace to belong to.
    let _ = span.set_parent(traces::told_by(request.headers()));
    let context = span.context();
    let trace = context.span().span_context().clone();
    if trace.is_valid() {
        span.record("trace_id", tracing::field::display(trace.trace_id()));
    }
    span.set_attribute("http.request.method", request.method().to_string());
    span.set_attribute("http.route", path.to_owned());
    if let Some(Correlation(id)) = request.extensions().get() {
        span.record("correlation", id.as_str());
    }
    if let Some(context) = request.lambda_context_ref() {
        span.record("request_id", context.request_id.as_str());
    }
    span
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

/// The body of an answer, and what is told of it when it is over.
struct Answered {
    body: Body,
    span: Span,
    status: StatusCode,
    began: Instant,
    /// When the answer began, after the request.
    answered: Duration,
    bytes: usize,
    is_told: bool,
}

impl Answered {
    /// Writes the request's one line: when its answer is over, or when nobody reads it any more.
    fn tell(&mut self, cut_short: bool) {
        if std::mem::replace(&mut self.is_told, true) {
            return;
        }
        let _within = self.span.enter();
        tracing::info!(
            status = self.status.as_u16(),
            elapsed_ms = millis(self.answered),
            total_ms = millis(self.began.elapsed()),
            bytes = self.bytes,
            cut_short = cut_short.then_some(true),
            "request"
        );
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl HttpBody for Answered {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        let frame = {
            let _within = this.span.enter();
            ready!(Pin::new(&mut this.body).poll_frame(context))
        };
        match &frame {
            Some(Ok(frame)) => this.bytes += frame.data_ref().map_or(0, Bytes::len),
            Some(Err(_)) => this.tell(true),
            None => this.tell(false),
        }
        Poll::Ready(frame)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Answered {
    fn drop(&mut self) {
        let cut_short = !self.body.is_end_stream();
        self.tell(cut_short);
    }
}
