//! Traces: what a request did is a tree of spans in the caller's own trace, if the caller names one (`traceparent`, W3C
//! Trace Context), and in a new one else.
//!
//! Where a collector is named, the spans go to it (OTLP over HTTP) before the answer ends: after that Lambda freezes the
//! process. A collector that is slow or away costs its patience and nothing else.

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

/// How long an answer's end may wait for the collector.
const PATIENCE: Duration = Duration::from_secs(1);
/// How many spans are kept for it; more are left out.
const MOST_SPANS: usize = 1_024;

/// Where spans are sent.
#[derive(Debug)]
struct Collector {
    exporter: SpanExporter,
    ended: Ended,
}

static COLLECTOR: OnceLock<Collector> = OnceLock::new();

/// Spans that ended and were not sent yet.
#[derive(Debug, Clone, Default)]
struct Ended(Arc<Mutex<Vec<SpanData>>>);

impl SpanProcessor for Ended {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        let mut ended = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.len() < MOST_SPANS {
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

/// What makes spans. It is ready to send them if the environment names a collector.
pub(super) fn tracer(function: &'static str, env: &mut Env) -> SdkTracer {
    global::set_text_map_propagator(TraceContextPropagator::new());
    let service = KeyValue::new("service.name", function);
    let resource = Resource::builder_empty().with_attribute(service).build();
    let mut provider = SdkTracerProvider::builder().with_resource(resource.clone());
    if let Some(mut exporter) = exporter(env) {
        exporter.set_resource(&resource);
        let ended = Ended::default();
        provider = provider.with_span_processor(ended.clone());
        // A second start in one process is harmless: the first one stays.
        let _ = COLLECTOR.set(Collector { exporter, ended });
    }
    provider.build().tracer("agent-backend")
}

/// What sends spans to the collector that the environment names; none without one, or without certificates to trust.
fn exporter(env: &mut Env) -> Option<SpanExporter> {
    let endpoint = env.read(&settings::OTEL_EXPORTER_OTLP_ENDPOINT)?;
    let http = reqwest::Client::builder().tls_backend_preconfigured(tls::client_config().ok()?);
    let http = http.build().ok()?;
    SpanExporter::builder()
        .with_http()
        .with_http_client(Client(http))
        .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
        .with_timeout(PATIENCE)
        .build()
        .ok()
}

/// Whether spans are sent anywhere.
pub(crate) fn are_sent() -> bool {
    COLLECTOR.get().is_some()
}

/// Sends what ended, within a second. What can't be sent is left out, with a line of the log.
pub async fn flush() {
    let Some(Collector { exporter, ended }) = COLLECTOR.get() else { return };
    let batch = mem::take(&mut *ended.0.lock().unwrap_or_else(PoisonError::into_inner));
    if batch.is_empty() {
        return;
    }
    let spans = batch.len();
    let sent = tokio::time::timeout(PATIENCE, exporter.export(batch)).await;
    if !matches!(sent, Ok(Ok(()))) {
        tracing::warn!(spans, "traces could not be sent");
    }
}

/// The trace that a request belongs to, as its headers say.
pub(crate) fn told_by(headers: &HeaderMap) -> Context {
    global::get_text_map_propagator(|propagator| propagator.extract(&HeaderExtractor(headers)))
}

/// The exporter's HTTP.
#[derive(Debug)]
struct Client(reqwest::Client);

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let answer = self.0.execute(request.try_into()?).await?;
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = answer.status();
        // A few bytes, if any: what of the spans was refused.
        *response.body_mut() = answer.bytes().await?;
        Ok(response)
    }
}
