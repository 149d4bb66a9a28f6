//! Every log line of a request names the request and its caller.

use std::{
    io::Write,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::Request,
    response::Response,
    routing::{get, post},
};
use contracts::ErrorCode;
use futures::{FutureExt, stream};
use lambda_http::{
    RequestExt, aws_lambda_events::apigw::ApiGatewayProxyRequestContext, lambda_runtime::Config,
    request::RequestContext,
};
use serde_json::{Value, json};
use settings::Env;
use tower::ServiceExt;
use tracing::Span;

use super::{
    line::FlatJson,
    metrics::{self, Metrics},
    subscriber, traces,
};
use crate::{
    AuthenticatedCaller, ClaimNames, Correlation, Reply, api::with_middleware, path::TurnPath,
    request_body::ExecuteBody,
};

/// The captured log, shared with its writer.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// Captures the log of `done` at this level.
    fn capture<T>(level: &str, done: impl FnOnce() -> T) -> (T, Vec<Value>) {
        Self::capture_as(level, FlatJson::default(), done)
    }

    /// Captures the log of `done` in this format.
    fn capture_as<T>(level: &str, format: FlatJson, done: impl FnOnce() -> T) -> (T, Vec<Value>) {
        let log = Self::default();
        let writer = log.clone();
        let tracer = traces::tracer("test", &mut Env::from_vars::<String, String>([]));
        let subscriber = subscriber(level, format, tracer, move || writer.clone());
        let done = tracing::subscriber::with_default(subscriber, done);
        let written = log.0.lock().unwrap();
        let lines = written.split_inclusive(|byte| *byte == b'\n');
        (done, lines.map(|line| serde_json::from_slice(line).unwrap()).collect())
    }
}

#[derive(Debug, thiserror::Error)]
#[error("outer")]
struct Outer(#[source] std::fmt::Error);

async fn turn(_: AuthenticatedCaller, _: TurnPath) -> Result<Reply, Reply> {
    Span::current().record("attempt", "nonce-1");
    tracing::info!(sized = 7, session = "its own", "worked");
    Err(Reply::error_with_cause(&Outer(std::fmt::Error), ErrorCode::StorageUnavailable.into()))
}

async fn run(_: AuthenticatedCaller, _: Correlation, _: ExecuteBody) -> Response {
    let pieces = stream::once(async {
        tracing::warn!("streamed");
        Ok::<_, std::fmt::Error>("piece")
    });
    Response::new(Body::from_stream(pieces))
}

async fn panics() -> Reply {
    panic!("on purpose")
}

/// Sends a request as Lambda delivers it and reads the whole response.
fn send(mut request: Request) -> (http::response::Parts, String) {
    let mut gateway = ApiGatewayProxyRequestContext::default();
    gateway.request_id = Some("gateway-1".to_owned());
    let claims = json!({"aud": "web", "sub": "ada", "custom:org": "acme"});
    gateway.authorizer.fields.insert("claims".to_owned(), claims);
    let mut lambda = lambda_http::Context::default();
    lambda.request_id = "lambda-1".to_owned();
    lambda.xray_trace_id = Some(format!("Root={XRAY};Parent=53995c3f42cd8ad8;Sampled=0"));
    lambda.env_config = Arc::new(Config { version: "12".to_owned(), ..Config::default() });
    request = request.with_request_context(RequestContext::ApiGatewayV1(gateway));
    let request = request.with_lambda_context(lambda);
    let names = ClaimNames::read(&mut Env::from_vars([("TOKEN_AUDIENCES", "web")]));
    let routes = Router::new()
        .route("/sessions/{SessionId}/turns/{TurnId}", get(turn))
        .route("/execute", post(run))
        .route("/panics", get(panics))
        .with_state(Arc::new(names));
    let answered = async {
        let (head, body) = with_middleware(routes).oneshot(request).await.unwrap().into_parts();
        (head, to_bytes(body, 1 << 20).await.unwrap())
    };
    // No handler here waits for anything.
    let (head, body) = answered.now_or_never().unwrap();
    (head, String::from_utf8(body.to_vec()).unwrap())
}

/// The trace id of X-Ray.
const XRAY: &str = "1-5759e988-bd862e3fe1be46a994272793";
/// The caller's trace id.
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

fn get_turn() -> Request {
    let request = Request::get("/sessions/s1/turns/t1")
        .header("x-correlation-id", "joined-1")
        .header("traceparent", format!("00-{TRACE}-00f067aa0ba902b7-01"));
    request.body(Body::empty()).unwrap()
}

/// Returns the line with this message, without its timestamp.
#[track_caller]
fn line(lines: &[Value], message: &str) -> Value {
    let line = lines.iter().find(|line| line["message"] == message);
    let mut line = line.unwrap_or_else(|| panic!("{message} is not among {lines:#?}")).clone();
    // True for the first request of the process, which may be another test's.
    assert!(line.as_object_mut().unwrap().remove("cold_start").is_none_or(|cold| cold.is_boolean()));
    assert!(line.as_object_mut().unwrap().remove("timestamp").unwrap().as_str().unwrap().ends_with('Z'));
    line
}

#[test]
fn log_line_names_request_caller_and_subject() {
    let ((head, _), lines) = Log::capture("info", || send(get_turn()));
    assert_eq!(
        (head.status.as_u16(), &head.headers["x-correlation-id"]),
        (503, &"joined-1".parse().unwrap())
    );
    assert_eq!(head.headers["x-request-id"], "lambda-1");
    let mut expected = json!({
        "level": "ERROR", "message": "request failed", "code": "StorageUnavailable",
        "error": "outer: an error occurred when formatting an argument",
        "correlation": "joined-1", "request_id": "lambda-1", "method": "GET",
        "path": "/sessions/{SessionId}/turns/{TurnId}", "org": "acme", "user": "ada",
        "session": "s1", "turn": "t1", "attempt": "nonce-1", "trace_id": TRACE,
        "xray_trace_id": XRAY, "function_version": "12",
    });
    assert_eq!(line(&lines, "request failed"), expected);
    let request = line(&lines, "request");
    assert!(request["total_ms"].as_u64() >= request["elapsed_ms"].as_u64(), "{request}");
    assert!(request["bytes"].as_u64() > Some(100), "{request}");
    let own = [("level", "INFO".into()), ("message", "request".into()), ("status", 503.into())];
    let measured = ["elapsed_ms", "total_ms", "bytes"].map(|name| (name, request[name].clone()));
    let own = own.into_iter().chain(measured);
    expected.as_object_mut().unwrap().retain(|name, _| !["code", "error"].contains(&name.as_str()));
    expected.as_object_mut().unwrap().extend(own.map(|(name, value)| (name.to_owned(), value)));
    assert_eq!(request, expected);
    // A line's own fields win.
    assert_eq!(
        (&line(&lines, "worked")["session"], &line(&lines, "worked")["sized"]),
        (&json!("its own"), &json!(7))
    );
}

#[test]
fn request_without_traceparent_starts_a_trace() {
    let trace = |header: Option<&str>| {
        let request = Request::get("/nowhere").header("traceparent", header.unwrap_or_default());
        let (_, lines) = Log::capture("info", || send(request.body(Body::empty()).unwrap()));
        line(&lines, "request")["trace_id"].as_str().unwrap().to_owned()
    };
    let (one, other) = (trace(None), trace(Some("00-none-of-it-01")));
    assert_eq!([one.len(), other.len()], [32, 32]);
    assert_ne!(one, other);
    let at_the_end = Log::capture("info", || send(get_turn())).1;
    let mut unnamed = at_the_end.iter().filter(|line| line["trace_id"] != TRACE);
    assert_eq!(unnamed.next(), None, "every line names the trace, and none what is for the collector alone");
    assert!(!format!("{at_the_end:?}").contains("otel."));
}

#[test]
fn request_span_exists_at_every_log_level() {
    let (_, lines) = Log::capture("error", || send(get_turn()));
    assert_eq!(lines.len(), 1, "{lines:?}");
    let line = line(&lines, "request failed");
    assert_eq!((&line["correlation"], &line["turn"]), (&json!("joined-1"), &json!("t1")));
}

#[test]
fn log_lines_while_streaming_belong_to_the_request() {
    let body = json!({"SessionId": "s2", "TurnId": "t2", "Instruction": "marker"}).to_string();
    let request = Request::post("/execute").header("content-type", "application/json").body(Body::from(body));
    let ((head, body), lines) = Log::capture("info", || send(request.unwrap()));
    assert_eq!((head.headers["x-correlation-id"].to_str().unwrap(), body.as_str()), ("gateway-1", "piece"));
    let streamed = line(&lines, "streamed");
    let [correlation, org, session, turn] =
        ["correlation", "org", "session", "turn"].map(|name| streamed[name].as_str().unwrap());
    assert_eq!([correlation, org, session, turn], ["gateway-1", "acme", "s2", "t2"]);
    assert!(!format!("{lines:?}").contains("marker"), "no line contains the instruction (I14)");
}

#[test]
fn fallback_responses_are_logged_with_ids() {
    for (path, status, route) in
        [("/nowhere", 404, "none"), ("/execute", 405, "/execute"), ("/panics", 500, "/panics")]
    {
        let request = Request::get(path).header("x-correlation-id", "a b").body(Body::empty()).unwrap();
        let ((head, _), lines) = Log::capture("info", || send(request));
        assert_eq!(
            (head.status.as_u16(), &head.headers["x-correlation-id"]),
            (status, &"gateway-1".parse().unwrap())
        );
        let request = line(&lines, "request");
        assert_eq!((&request["path"], &request["correlation"]), (&json!(route), &json!("gateway-1")));
        assert_eq!(request.get("session"), None, "unknown fields are absent");
    }
}

#[test]
fn line_outside_spans_is_flat_json() {
    let format = FlatJson { service: Some("execute"), metrics: None };
    let (_, lines) = Log::capture_as("info", format, || tracing::info!(service = "other", "named"));
    assert_eq!(line(&lines, "named"), json!({"level": "INFO", "message": "named", "service": "execute"}));
    let (_, lines) = Log::capture("info=loud", || tracing::info!(a = true, "alone"));
    assert_eq!(line(&lines, "alone"), json!({"level": "INFO", "message": "alone", "a": true}));
    let (_, lines) =
        Log::capture("trace", || (tracing::trace!("whole bodies"), tracing::debug!("their sizes")));
    assert_eq!(lines.len(), 1);
    line(&lines, "their sizes");
}

#[test]
fn libraries_log_from_info_at_any_configured_level() {
    for level in ["trace", "debug", "lambda_runtime=trace,hyper=trace,aws_smithy_runtime=debug,info"] {
        let (_, lines) = Log::capture(level, || {
            let _span = tracing::debug_span!(target: "aws_smithy_runtime", "try", body = "marker").entered();
            tracing::trace!(target: "lambda_runtime::layers::api_client", "raw JSON event: marker");
            tracing::debug!(target: "aws_smithy_runtime::client", "marker");
            tracing::debug!(target: "hyper", "marker");
            tracing::info!(target: "hyper", "connected");
        });
        assert!(!format!("{lines:?}").contains("marker"), "{level}: {lines:?}");
    }
}

#[test]
fn every_crate_of_a_function_is_listed() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["shared", "functions"].map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
    let crates = folders.into_iter().flatten().map(|folder| folder.unwrap().path());
    // These are in no function.
    let others = ["testkit", "indexing", "openapi"];
    let others = |folder: &std::path::PathBuf| others.iter().any(|name| folder.ends_with(name));
    let crates = crates.filter(|folder| folder.join("Cargo.toml").exists() && !others(folder));
    for folder in crates {
        let name = folder.file_name().unwrap().to_string_lossy().replace('-', "_");
        assert!(super::is_ours(&format!("{name}::module")), "{name}");
    }
    assert!(!super::is_ours("lambda_runtime") && !super::is_ours("hyper::proto"));
}

#[test]
fn inner_span_overrides_outer_but_library_spans_do_not() {
    let (_, lines) = Log::capture("debug", || {
        let _ours = tracing::error_span!("request", turn = "t1", attempt = "nonce-1").entered();
        let _inner = tracing::info_span!("salvage", turn = "t0").entered();
        let _library = tracing::debug_span!("try_attempt", attempt = 1, method = "GetItem").entered();
        tracing::debug!("asked");
    });
    let expected = json!({"turn": "t0", "attempt": "nonce-1", "method": "GetItem", "level": "DEBUG", "message": "asked"});
    assert_eq!(line(&lines, "asked"), expected);
}

#[test]
fn alarms_and_dashboard_use_all_metrics_and_no_others() {
    let template = include_str!("../../../../template.yaml");
    // An alarm has them in a line, or one below the other.
    let lines: Vec<&str> = template.lines().map(str::trim).collect();
    let text = lines.join(", ");
    let ours = text.split("Namespace: !Ref AWS::StackName, MetricName: ").skip(1);
    let alarmed = ours.filter_map(|rest| rest.split([',', '}']).next());
    let shown = lines.iter().filter_map(|line| line.strip_prefix("[\"${AWS::StackName}\", \""));
    let shown = shown.filter_map(|line| line.split('"').next());
    let named: Vec<&str> = alarmed.chain(shown).collect();
    assert!(named.len() > 15, "{named:?}");
    // A metric filter of the template counts failures of a new version.
    for name in named.iter().filter(|name| **name != "failures_by_version") {
        assert!(metrics::names().any(|counted| counted == *name), "nothing counts {name}");
    }
    // Each metric costs money.
    for counted in metrics::names() {
        assert!(named.contains(&counted), "no alarm and no graph uses {counted}");
    }
}

#[test]
fn documented_costs_count_the_custom_metrics() {
    // `elapsed_ms` has a series for each API function. Only the authorizer of `AuthMode=oidc` fetches keys.
    let total = metrics::names().count() + 3 - 1 - 1;
    let row = format!("| Custom metrics | {total} |");
    assert!(include_str!("../../../../docs/guides/deploying.md").contains(&row), "{row}");
}

#[test]
fn known_lines_carry_metrics_if_namespace_is_set() {
    let metrics = Some(Metrics { namespace: "stack".to_owned(), function: "turn-finalizer" });
    let done = || {
        tracing::info!(turns_failed = 1_u64, turn_ms = 250_u64, model = "m", "turn");
        tracing::info!(elapsed_ms = 3_u64, "request");
        tracing::info!(elapsed_ms = 3_u64, "something else");
    };
    let (_, lines) = Log::capture_as("info", FlatJson { service: None, metrics }, done);
    let turn = line(&lines, "turn");
    assert_eq!((&turn["turns"], &turn["model"]), (&json!(1), &json!("m")));
    let directive = &turn["_aws"]["CloudWatchMetrics"][0];
    let named = |name: &str, unit: &str| json!({ "Name": name, "Unit": unit });
    assert_eq!(
        *directive,
        json!({
            "Namespace": "stack",
            "Dimensions": [[]],
            "Metrics": [named("turns", "Count"), named("turns_failed", "Count"), named("turn_ms", "Milliseconds")],
        }),
        "what the line does not have is no metric of it"
    );
    assert!(turn["_aws"]["Timestamp"].is_u64());
    let request = line(&lines, "request");
    assert_eq!(request["_aws"]["CloudWatchMetrics"][0]["Dimensions"], json!([["function"]]));
    assert_eq!(request["function"], "turn-finalizer");
    assert_eq!(line(&lines, "something else").get("_aws"), None);
    let (_, lines) = Log::capture("info", || tracing::info!(turn_ms = 250_u64, "turn"));
    assert_eq!(line(&lines, "turn").get("_aws"), None);
}
