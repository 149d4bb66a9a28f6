//! Distributed traces. Each request is a tree of spans, in the caller's trace if the request has a `traceparent` (W3C
//! Trace Context), or else in a new one.
//!
//! If a collector is configured, the spans are exported (OTLP over HTTP) before the response ends, because Lambda
//! freezes the process afterwards. A slow or unreachable collector costs at most the export timeout.
//! Concurrent invocations share the buffer: each export takes the spans that have ended until then, whosever they are.

use std::{
    collections::HashMap,
    mem,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use opentelemetry::{
    Context, KeyValue, global,
    propagation::Extractor,
    trace::{TraceContextExt, TracerProvider},
};
use opentelemetry_http::{HeaderExtractor, HttpClient, HttpError};
use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    propagation::TraceContextPropagator,
    trace::{SdkTracer, SdkTracerProvider, Span, SpanData, SpanExporter as _, SpanProcessor},
};
use settings::Env;
use tracing_opentelemetry::OpenTelemetrySpanExt;

use crate::concurrency;

/// The most time that the end of a response waits for the collector.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(1);
/// The most spans to buffer for one invocation at a time. More are dropped.
const MAX_SPANS: usize = 1_024;
/// The concurrent invocations for which the buffer grows, which bounds its memory.
const MAX_CONCURRENCY: u32 = 16;

/// The destination of spans.
#[derive(Debug)]
struct Collector {
    exporter: SpanExporter,
    ended: EndedSpans,
}

static COLLECTOR: OnceLock<Collector> = OnceLock::new();

/// Spans that have ended and aren't exported yet.
#[derive(Debug, Clone)]
struct EndedSpans {
    spans: Arc<Mutex<Vec<SpanData>>>,
    /// The most spans to hold.
    limit: usize,
}

impl EndedSpans {
    /// Creates the buffer of a process that serves so many invocations at a time.
    fn new(concurrency: u32) -> Self {
        let factor = usize::try_from(concurrency.min(MAX_CONCURRENCY)).unwrap_or(1);
        Self { spans: Arc::default(), limit: MAX_SPANS * factor }
    }

    fn spans(&self) -> MutexGuard<'_, Vec<SpanData>> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SpanProcessor for EndedSpans {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        let mut ended = self.spans();
        if ended.len() < self.limit {
            ended.push(span);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// Creates the tracer. It exports spans if the environment names a collector.
pub(super) fn tracer(function: &'static str, env: &mut Env) -> SdkTracer {
    global::set_text_map_propagator(TraceContextPropagator::new());
    let resource = resource(function, env);
    let mut provider = SdkTracerProvider::builder().with_resource(resource.clone());
    if let Some(mut exporter) = exporter(env) {
        exporter.set_resource(&resource);
        let ended = EndedSpans::new(concurrency::read(env));
        provider = provider.with_span_processor(ended.clone());
        // A second start in the same process is harmless: the first one remains.
        let _ = COLLECTOR.set(Collector { exporter, ended });
    }
    provider.build().tracer("agent-backend")
}

/// Returns the attributes of every span: the function, and the stack and version that it is part of.
fn resource(function: &'static str, env: &mut Env) -> Resource {
    let stack = env.read(&settings::METRICS_NAMESPACE).map(|stack| ("service.namespace", stack));
    let lambda = [
        ("service.version", "AWS_LAMBDA_FUNCTION_VERSION"),
        ("faas.version", "AWS_LAMBDA_FUNCTION_VERSION"),
        ("faas.name", "AWS_LAMBDA_FUNCTION_NAME"),
        ("cloud.region", "AWS_REGION"),
    ];
    let lambda =
        lambda.into_iter().filter_map(|(name, variable)| Some((name, std::env::var(variable).ok()?)));
    let attributes = stack.into_iter().chain(lambda).map(|(name, value)| KeyValue::new(name, value));
    let service = KeyValue::new("service.name", function);
    Resource::builder_empty().with_attributes(std::iter::once(service).chain(attributes)).build()
}

/// Creates the exporter for the configured collector. `None` without one, or without trusted certificates.
fn exporter(env: &mut Env) -> Option<SpanExporter> {
    let endpoint = env.read(&settings::OTEL_EXPORTER_OTLP_ENDPOINT)?;
    let http = reqwest::Client::builder().tls_backend_preconfigured(tls::client_config().ok()?);
    let http = http.build().ok()?;
    SpanExporter::builder()
        .with_http()
        .with_http_client(Client(http))
        .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
        .with_timeout(EXPORT_TIMEOUT)
        .build()
        .ok()
}

/// True if spans are exported.
pub(crate) fn enabled() -> bool {
    COLLECTOR.get().is_some()
}

/// Exports the finished spans, within a second. Logs and drops what can't be sent.
pub async fn flush() {
    let Some(Collector { exporter, ended }) = COLLECTOR.get() else { return };
    let batch = mem::take(&mut *ended.spans());
    if batch.is_empty() {
        return;
    }
    let spans = batch.len();
    let sent = tokio::time::timeout(EXPORT_TIMEOUT, exporter.export(batch)).await;
    if !matches!(sent, Ok(Ok(()))) {
        tracing::warn!(spans, "{}", contracts::log::TRACE_EXPORT_FAILED);
    }
}

/// Returns the trace context in the request's headers.
pub(crate) fn parent_context(headers: &HeaderMap) -> Context {
    extract(&HeaderExtractor(headers))
}

/// Returns the trace context of a `traceparent`, which a message has instead of headers.
#[must_use]
pub fn message_context(traceparent: Option<&str>) -> Context {
    let carrier: HashMap<_, _> =
        traceparent.map(|value| ("traceparent".to_owned(), value.to_owned())).into_iter().collect();
    extract(&carrier)
}

fn extract(carrier: &dyn Extractor) -> Context {
    global::get_text_map_propagator(|propagator| propagator.extract(carrier))
}

/// Makes a span a child of this context, or the start of a trace. The span's field `trace_id` names the trace.
pub fn join(span: &tracing::Span, parent: Context) {
    // Without a tracer there is no trace to belong to.
    let _ = span.set_parent(parent);
    let context = span.context();
    let trace = context.span().span_context().clone();
    if trace.is_valid() {
        span.record("trace_id", tracing::field::display(trace.trace_id()));
    }
}

/// The exporter's HTTP client.
#[derive(Debug)]
struct Client(reqwest::Client);

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let answer = self.0.execute(request.try_into()?).await?;
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = answer.status();
        // The collector may report rejected spans here, in a few bytes.
        *response.body_mut() = answer.bytes().await?;
        Ok(response)
    }
}
