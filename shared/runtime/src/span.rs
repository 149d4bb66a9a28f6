//! The span of a request. Every log line of the request, including the lines of its streaming response, carries the
//! span's fields. It is also the request's span in its trace.
//!
//! The span starts with the fields that the request itself provides. Extractors record the caller and the subject,
//! and the engine records the attempt. Until then these fields are absent.

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
use contracts::{
    gen_ai,
    id::{SessionId, TurnId},
};
use futures::{StreamExt, future, stream};
use http::StatusCode;
use http_body::{Frame, SizeHint};
use lambda_http::RequestExt;
use opentelemetry::trace::Status;
use protocol::Caller;
use tracing::{Instrument, Span, field::Empty};
use tracing_opentelemetry::OpenTelemetrySpanExt;

use crate::{Correlation, Invocation, telemetry::traces};

/// Adds the request span to the routes and logs one wide event at its end: ids and sizes, no content (I14).
pub(crate) fn with_span(routes: Router) -> Router {
    routes.layer(middleware::from_fn(with_request_span)).layer(middleware::from_fn(flush_traces))
}

async fn with_request_span(request: Request, next: Next) -> Response {
    let (span, started) = (request_span(&request), Instant::now());
    let response = next.run(request).instrument(span.clone()).await;
    let status = response.status();
    span.set_attribute("http.response.status_code", i64::from(status.as_u16()));
    if status.is_server_error() {
        span.set_status(Status::error(""));
    }
    let (time_to_response, bytes) = (started.elapsed(), 0);
    response.map(|body| {
        Body::new(LoggedBody { body, span, status, started, time_to_response, bytes, is_logged: false })
    })
}

/// Exports the spans before the response ends.
async fn flush_traces(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    if !traces::enabled() {
        return response;
    }
    let flushed = || stream::once(traces::flush()).filter_map(|()| future::ready(None));
    response.map(|body| Body::from_stream(body.into_data_stream().chain(flushed())))
}

/// Creates the request's span. It has the highest severity, so that every log line has it, whatever the level.
fn request_span(request: &Request) -> Span {
    let path = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str);
    let span = tracing::error_span!(
        "request",
        otel.name = format!("{} {path}", request.method()),
        otel.kind = "server",
        trace_id = Empty,
        correlation = Empty,
        request_id = Empty,
        cold_start = Empty,
        function_version = Empty,
        xray_trace_id = Empty,
        method = %request.method(),
        path,
        org = Empty,
        user = Empty,
        session = Empty,
        turn = Empty,
        attempt = Empty,
        { gen_ai::CONVERSATION_ID } = Empty,
        { gen_ai::AGENT_ID } = Empty,
    );
    traces::join(&span, traces::parent_context(request.headers()));
    span.set_attribute("http.request.method", request.method().to_string());
    span.set_attribute("http.route", path.to_owned());
    if let Some(Correlation(id)) = request.extensions().get() {
        span.record("correlation", id.as_str());
    }
    if let Some(context) = request.lambda_context_ref() {
        span.record("request_id", context.request_id.as_str());
        Invocation::new(context).record(&span);
    }
    span
}

/// Records the caller on the current span.
pub(crate) fn record_caller(caller: &Caller) {
    Span::current().record("org", caller.org.as_str()).record("user", caller.user.id.as_str());
}

/// Records the session on the current span.
pub(crate) fn record_session(session: &SessionId) {
    Span::current().record("session", session.as_str()).record(gen_ai::CONVERSATION_ID, session.as_str());
}

/// Records the turn on the current span, for a request that names it in a form of its own.
pub fn record_turn(session: &SessionId, turn: &TurnId) {
    record_session(session);
    Span::current().record("turn", turn.as_str());
}

/// A response body that logs the request when it ends.
struct LoggedBody {
    body: Body,
    span: Span,
    status: StatusCode,
    started: Instant,
    /// Time from the request to the start of the response.
    time_to_response: Duration,
    bytes: usize,
    is_logged: bool,
}

impl LoggedBody {
    /// Logs the request once, when its response ends or the client disconnects.
    fn log(&mut self, cut_short: bool) {
        if std::mem::replace(&mut self.is_logged, true) {
            return;
        }
        let _within = self.span.enter();
        tracing::info!(
            status = self.status.as_u16(),
            elapsed_ms = millis(self.time_to_response),
            total_ms = millis(self.started.elapsed()),
            bytes = self.bytes,
            cut_short = cut_short.then_some(true),
            "{}",
            contracts::log::REQUEST
        );
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl HttpBody for LoggedBody {
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
            Some(Err(_)) => this.log(true),
            None => this.log(false),
        }
        Poll::Ready(frame)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for LoggedBody {
    fn drop(&mut self) {
        let cut_short = !self.body.is_end_stream();
        self.log(cut_short);
    }
}
