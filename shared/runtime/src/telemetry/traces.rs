//! Distributed traces. Each request is a tree of spans, in the caller's trace if the request has a `traceparent` (W3C
//! Trace Context), or else in a new one.
//!
//! If a collector is configured, the spans are exported (OTLP over HTTP) before the response ends, because Lambda
//! freezes the process afterwards. A slow or unreachable collector costs at most the export timeout.

use std::{
    mem,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use opentelemetry::{Context, KeyValue, global, trace::TracerProvider};
use opentelemetry_http::{HeaderExtractor, HttpClient, HttpError};
use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    propagation::TraceContextPropagator,
    trace::{SdkTracer, SdkTracerProvider, Span, SpanData, SpanExporter as _, SpanProcessor},
};
use settings::Env;

/// The most time that the end of a response waits for the collector.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(1);
/// The most spans to buffer. More are dropped.
const MAX_SPANS: usize = 1_024;

/// The destination of spans.
#[derive(Debug)]
struct Collector {
    exporter: SpanExporter,
    ended: EndedSpans,
}

static COLLECTOR: OnceLock<Collector> = OnceLock::new();

/// Spans that have ended and aren't exported yet.
#[derive(Debug, Clone, Default)]
struct EndedSpans(Arc<Mutex<Vec<SpanData>>>);

impl SpanProcessor for EndedSpans {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        let mut ended = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.len() < MAX_SPANS {
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
    let service = KeyValue::new("service.name", function);
    let resource = Resource::builder_empty().with_attribute(service).build();
    let mut provider = SdkTracerProvider::builder().with_resource(resource.clone());
    if let Some(mut exporter) = exporter(env) {
        exporter.set_resource(&resource);
        let ended = EndedSpans::default();
        provider = provider.with_span_processor(ended.clone());
        // A second start in the same process is harmless: the first one remains.
        let _ = COLLECTOR.set(Collector { exporter, ended });
    }
    provider.build().tracer("agent-backend")
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
    let batch = mem::take(&mut *ended.0.lock().unwrap_or_else(PoisonError::into_inner));
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
    global::get_text_map_propagator(|propagator| propagator.extract(&HeaderExtractor(headers)))
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
