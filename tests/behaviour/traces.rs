//! Traces: a request's spans are of its caller's trace, reach the collector before the answer ends, and name what
//! OpenTelemetry names, ids and counts alone (docs/reference/logs.md).

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use axum::{Router, body::Bytes, extract::State, routing::post};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{KeyValue, any_value::Value as Told},
    resource::v1::Resource,
    trace::v1::Span,
};
use prost::Message;
use reqwest::Method;
use tokio::net::TcpListener;

use crate::support::{PATIENCE, System, options, turn};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// A collector of this test's own: what OTLP over HTTP brings it.
#[derive(Clone, Default)]
pub struct Collector(Arc<Mutex<Exported>>);

/// The spans that were exported, and what each export named as their origin.
#[derive(Default)]
struct Exported {
    spans: Vec<Span>,
    resources: Vec<Resource>,
}

impl Collector {
    pub async fn start() -> (Self, String) {
        let collector = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let routes = Router::new().route("/v1/traces", post(take)).with_state(collector.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        (collector, url)
    }

    fn spans(&self) -> Vec<Span> {
        self.0.lock().unwrap().spans.clone()
    }

    #[track_caller]
    pub fn span(&self, name: &str) -> Span {
        let spans = self.spans();
        let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
        spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("{name}: {names:?}")).clone()
    }
}

async fn take(State(collector): State<Collector>, body: Bytes) {
    let request = ExportTraceServiceRequest::decode(body).unwrap();
    let mut exported = collector.0.lock().unwrap();
    for of in request.resource_spans {
        exported.resources.extend(of.resource);
        exported.spans.extend(of.scope_spans.into_iter().flat_map(|of| of.spans));
    }
}

pub fn attributes(attributes: &[KeyValue]) -> BTreeMap<&str, String> {
    let told = |value: &Told| match value {
        Told::StringValue(text) => text.clone(),
        Told::IntValue(count) => count.to_string(),
        other => format!("{other:?}"),
    };
    let attributes = attributes.iter();
    attributes.filter_map(|one| Some((one.key.as_str(), told(one.value.as_ref()?.value.as_ref()?)))).collect()
}

pub fn traced(url: &str) -> local::Options {
    let mut options = options();
    options.environment.insert("OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(), url.to_owned());
    options
}

#[tokio::test]
async fn spans_join_the_caller_trace_and_are_sent_before_the_response() {
    let (collector, url) = Collector::start().await;
    let system = System::with(traced(&url)).await;
    let request = turn("Say nothing of Xanadu.");
    let traceparent = format!("00-{TRACE}-{PARENT}-01");
    let headers = [("content-type", "application/json"), ("traceparent", traceparent.as_str())];
    let ada = system.client("acme", "ada");
    ada.raw(Method::POST, "/api/ai/agent/execute", &headers, request.to_string().into_bytes()).await.result();

    // The answer is there, so the spans are.
    let (server, call) = (collector.span("POST /api/ai/agent/execute"), collector.span("chat scripted"));
    assert_eq!([&server.trace_id, &call.trace_id].map(hex::encode), [TRACE, TRACE]);
    assert_eq!(hex::encode(&server.parent_span_id), PARENT);
    assert_eq!(call.parent_span_id, server.span_id);
    let told = attributes(&server.attributes);
    assert_eq!(
        ["http.route", "http.response.status_code", "org", "session"].map(|name| told[name].as_str()),
        ["/api/ai/agent/execute", "200", "acme", request["SessionId"].as_str().unwrap()]
    );
    let told = attributes(&call.attributes);
    assert_eq!(
        ["gen_ai.operation.name", "gen_ai.request.model"].map(|name| told[name].as_str()),
        ["chat", "scripted"]
    );
    assert!(told["gen_ai.request.stream"].contains("true"), "{told:?}");
    for name in ["gen_ai.response.id", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"] {
        assert!(!told[name].is_empty(), "{told:?}");
    }
    // The provider is told which span it works for.
    let sent = system.cloud.model().unwrap().requests().pop().unwrap()["headers"]["traceparent"].clone();
    assert_eq!(sent, format!("00-{TRACE}-{}-01", hex::encode(&call.span_id)));
    assert!(!format!("{:?}", collector.spans()).contains("Xanadu"), "no span tells contents (I14)");
}

/// Runs a turn whose model calls a tool of the server.
#[tokio::test]
async fn spans_name_conversation_agent_provider_and_tool() {
    let (collector, url) = Collector::start().await;
    let system = System::with(traced(&url)).await;
    let script = "[[script: call agent_change_mode {\"mode\":\"chat\",\"branch\":false,\"reason\":\"asked\"}; then; \
                  say \"Well.\"]]";
    let request = turn(script);
    system.client("acme", "ada").execute(&request).await.result();
    let server = collector.span("POST /api/ai/agent/execute");
    let told = attributes(&server.attributes);
    assert_eq!(told["gen_ai.conversation.id"], request["SessionId"].as_str().unwrap());
    assert_eq!(told["gen_ai.agent.id"], "default");
    assert_eq!(attributes(&collector.span("chat scripted").attributes)["gen_ai.provider.name"], "openai");
    let tool = collector.span("execute_tool agent_change_mode");
    assert_eq!(tool.parent_span_id, server.span_id);
    let told = attributes(&tool.attributes);
    assert_eq!(
        ["gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.type"].map(|name| told[name].as_str()),
        ["execute_tool", "agent_change_mode", "function"]
    );
    assert!(!told["gen_ai.tool.call.id"].is_empty());
    let lines = system.logged(local::Function::Execute, "request", |_| true).await;
    assert!(!format!("{lines:?}").contains("gen_ai."), "traces alone have these names: {lines:?}");
}

/// Two stacks that export to one collector can be told apart.
#[tokio::test]
async fn exports_name_function_stack_and_version() {
    let (collector, url) = Collector::start().await;
    let mut options = traced(&url);
    options.environment.insert("METRICS_NAMESPACE".to_owned(), "agents-staging".to_owned());
    let system = System::with(options).await;
    let ada = system.client("acme", "ada");
    ada.execute(&turn("Hello.")).await.result();
    ada.get("/api/ai/agent/sessions").await.result();
    let exported = collector.0.lock().unwrap();
    let resources: Vec<_> =
        exported.resources.iter().map(|resource| attributes(&resource.attributes)).collect();
    for function in ["execute", "session-read"] {
        let of = |told: &&BTreeMap<&str, String>| told["service.name"] == function;
        let told = resources.iter().find(of).unwrap_or_else(|| panic!("{function}: {resources:?}"));
        assert_eq!(
            ["service.namespace", "service.version", "faas.version", "cloud.region"]
                .map(|name| told[name].as_str()),
            ["agents-staging", "$LATEST", "$LATEST", "us-east-1"]
        );
        assert!(told["faas.name"].contains(function), "{told:?}");
    }
}

#[tokio::test]
async fn finalizer_continues_the_trace_of_the_request() {
    let (collector, url) = Collector::start().await;
    let system = System::with(traced(&url)).await;
    let traceparent = format!("00-{TRACE}-{PARENT}-01");
    let headers = [("content-type", "application/json"), ("traceparent", traceparent.as_str())];
    let body = turn("Hello.").to_string().into_bytes();
    system.client("acme", "ada").raw(Method::POST, "/api/ai/agent/execute", &headers, body).await.result();
    let is_handled = |line: &serde_json::Value| line["kind"] == "turn_settled";
    let lines = system.logged(local::Function::TurnFinalizer, "turn message handled", is_handled).await;
    assert_eq!(lines[0]["trace_id"], TRACE, "{lines:?}");

    // The finalizer's spans arrive when its invocation ends.
    let until = Instant::now() + PATIENCE;
    let server = collector.span("POST /api/ai/agent/execute");
    while !collector.spans().iter().any(|span| span.name == "process a finalize message") {
        assert!(Instant::now() < until, "no span of the finalizer");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let finalizer = collector.span("process a finalize message");
    assert_eq!(hex::encode(&finalizer.trace_id), TRACE);
    assert_ne!(finalizer.span_id, server.span_id);
}

#[tokio::test]
async fn unreachable_collector_fails_no_turn() {
    // Nothing listens on the discard port.
    let system = System::with(traced("http://127.0.0.1:9")).await;
    system.client("acme", "ada").execute(&turn("Hello.")).await.result();
    let lines = system.logged(local::Function::Execute, "trace export failed", |_| true).await;
    assert!(!lines.is_empty());
}
