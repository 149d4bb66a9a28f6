//! Tests of the local cloud with functions that misbehave on request: the effects on clients, queues and the machine.
//!
//! The local cloud starts its functions as `<executable> function <name>`. This executable is both: started that way
//! it is the misbehaving function, otherwise it runs the tests. It has no test harness, since a harness would take
//! those arguments for test names.

// A test may panic, and prints its result to the terminal.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use aws_sdk_dynamodb::types::{AttributeValue, TimeToLiveSpecification};
use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use contracts::paths::EXECUTE;
use futures::StreamExt;
use lambda_http::RequestExt;
use lambda_runtime::{LambdaEvent, service_fn};
use local::token::{Identity, LIFETIME};
use local::{Cloud, Data, Function, Options};
use serde_json::{Value, json};

// ---- The misbehaving function.

fn serve_function() {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let finalizer = std::env::var("AWS_LAMBDA_FUNCTION_NAME").is_ok_and(|name| name == "turn-finalizer");
    let ended = if finalizer {
        runtime.block_on(lambda_runtime::run(service_fn(finalize)))
    } else {
        let app = axum::Router::new().fallback(misbehave);
        runtime.block_on(lambda_http::run_with_streaming_response(app))
    };
    ended.unwrap();
}

async fn misbehave(request: axum::extract::Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let pause = Duration::from_millis(request["ms"].as_u64().unwrap_or_default());
    match request["do"].as_str().unwrap_or_default() {
        "sleep" => {
            tokio::time::sleep(pause).await;
            if let Some(file) = request["then_touch"].as_str() {
                std::fs::write(file, "done").unwrap();
            }
            "slept".into_response()
        }
        "exit" => std::process::exit(3),
        "panic" => panic!("panic on request"),
        "stream" => {
            let chunks = futures::stream::iter(["one ", "two ", "three"]).then(move |chunk| async move {
                tokio::time::sleep(if chunk == "one " { Duration::ZERO } else { pause }).await;
                Ok::<_, std::convert::Infallible>(Bytes::from_static(chunk.as_bytes()))
            });
            Body::from_stream(chunks).into_response()
        }
        "stream, then touch" => {
            let file = request["then_touch"].as_str().unwrap().to_owned();
            let chunks = request["chunks"].as_u64().unwrap();
            let chunks = futures::stream::unfold(0, move |n| {
                let file = file.clone();
                async move {
                    tokio::time::sleep(pause).await;
                    if n == chunks {
                        std::fs::write(file, "done").unwrap();
                        return None;
                    }
                    Some((Ok::<_, std::convert::Infallible>(Bytes::from("some ".repeat(200))), n + 1))
                }
            });
            Body::from_stream(chunks).into_response()
        }
        "exit while streaming" => {
            let chunks = futures::stream::unfold(0, |n| async move {
                tokio::time::sleep(Duration::from_millis(50)).await;
                if n == 2 {
                    std::process::exit(3);
                }
                Some((Ok::<_, std::convert::Infallible>(Bytes::from_static(b"some ")), n + 1))
            });
            Body::from_stream(chunks).into_response()
        }
        _ => {
            let context = serde_json::to_value(parts.extensions.request_context_ref()).unwrap();
            let received = json!({
                "method": parts.method.as_str(),
                "uri": parts.uri.to_string(),
                "header": parts.headers.get("x-asked").map(|value| value.to_str().unwrap()),
                "bytes": body.len(),
                "claims": context["authorizer"],
                "pid": std::process::id(),
                "environment": std::env::vars().collect::<BTreeMap<_, _>>(),
            });
            (axum::http::StatusCode::ACCEPTED, [("x-answered", "yes")], received.to_string()).into_response()
        }
    }
}

/// Fails messages that say so, and appends a line per delivery to a file.
async fn finalize(event: LambdaEvent<SqsEvent>) -> Result<SqsBatchResponse, lambda_runtime::Error> {
    let mut response = SqsBatchResponse::default();
    for record in event.payload.records {
        let body = record.body.unwrap_or_default();
        let count = &record.attributes["ApproximateReceiveCount"];
        let line = format!("{body} {count}\n");
        let file = std::env::var("DELIVERIES")?;
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(file)?;
        std::io::Write::write_all(&mut file, line.as_bytes())?;
        if body == "fail" {
            response.add_failure(record.message_id.unwrap_or_default());
        }
    }
    Ok(response)
}

// ---- Starting a cloud and calling it.

fn quiet() -> Options {
    Options { sweep: None, ..Options::default() }
}

async fn start(options: Options) -> Cloud {
    Cloud::start(options).await.unwrap()
}

fn post(cloud: &Cloud, request: Value) -> reqwest::RequestBuilder {
    reqwest::Client::new()
        .post(format!("{}{EXECUTE}", cloud.url()))
        .bearer_auth(cloud.token(&Identity::user("acme", "ada")).unwrap())
        .header("content-type", "application/json")
        .body(request.to_string())
}

async fn call(cloud: &Cloud, request: Value) -> reqwest::Response {
    post(cloud, request).send().await.unwrap()
}

async fn json(response: reqwest::Response) -> Value {
    serde_json::from_str(&response.text().await.unwrap()).unwrap()
}

async fn code(response: reqwest::Response) -> (u16, String) {
    let status = response.status().as_u16();
    assert_eq!(response.headers()["access-control-allow-origin"], "*");
    assert!(response.headers().contains_key("x-amzn-requestid"));
    let body = json(response).await;
    assert_eq!(body["Successful"], false);
    (status, body["Errors"][0]["ErrorCode"].as_str().unwrap().to_owned())
}

async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

// ---- The gateway.

async fn request_reaches_function_and_reply_reaches_client() {
    let cloud = start(quiet()).await;
    let url = format!("{}/api/ai/agent/sessions/s%201/turns/last?a=1&a=2&b=x%20y", cloud.url());
    let token = cloud.token(&Identity { operator: true, ..Identity::user("acme", "ada") }).unwrap();
    let request = reqwest::Client::new().get(url).bearer_auth(token).header("x-asked", "this");
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 202);
    assert_eq!(response.headers()["x-answered"], "yes");
    let received = json(response).await;
    assert_eq!(received["method"], "GET");
    let uri = received["uri"].as_str().unwrap();
    // lambda_http re-encodes the query.
    let (path, query) = uri.split_once('?').unwrap();
    assert!(path.ends_with("/api/ai/agent/sessions/s%201/turns/last"), "{path}");
    assert!(query.contains("a=1&a=2") && query.contains("b=x+y"), "{query}");
    assert_eq!(received["header"], "this");
    assert_eq!(received["claims"]["claims"]["custom:org"], "acme");
    assert_eq!(received["claims"]["claims"]["custom:operator"], "true");
}

async fn function_environment_hides_developer_variables() {
    let cloud = start(quiet()).await;
    let received = json(call(&cloud, json!({})).await).await;
    let environment = received["environment"].as_object().unwrap();
    assert_eq!(environment["TABLE_NAME"], cloud.table());
    assert_eq!(environment["AWS_ENDPOINT_URL_S3"], cloud.endpoints().s3);
    assert!(!environment.keys().any(|name| name.starts_with("CARGO")));
}

async fn gateway_refusals_have_envelope() {
    let cloud = start(quiet()).await;
    let client = reqwest::Client::new();
    let execute = format!("{}{EXECUTE}", cloud.url());
    let no_token = client.post(&execute).send().await.unwrap();
    assert_eq!(code(no_token).await, (401, "Unauthenticated".into()));
    let issued = SystemTime::now() - 2 * LIFETIME;
    let old = cloud.tokens().sign_at(&Identity::user("acme", "ada"), issued, LIFETIME).unwrap();
    let expired = client.post(&execute).bearer_auth(old).send().await.unwrap();
    assert_eq!(code(expired).await, (401, "Unauthenticated".into()));
    let unknown = client.get(format!("{}/nowhere", cloud.url())).send().await.unwrap();
    assert_eq!(code(unknown).await, (404, "RouteNotFound".into()));
    let wrong = client.get(&execute).send().await.unwrap();
    assert_eq!(code(wrong).await, (405, "MethodNotAllowed".into()));
    let for_lambda = post(&cloud, json!({})).body("x".repeat(6 * 1024 * 1024));
    assert_eq!(code(for_lambda.send().await.unwrap()).await, (413, "PayloadTooLarge".into()));
    let for_gateway = post(&cloud, json!({})).body("x".repeat(11 * 1024 * 1024));
    assert_eq!(code(for_gateway.send().await.unwrap()).await, (413, "PayloadTooLarge".into()));
    let huge = post(&cloud, json!({})).body("x".repeat(80 * 1024 * 1024));
    assert_eq!(code(huge.send().await.unwrap()).await, (413, "PayloadTooLarge".into()));
    assert_eq!(cloud.processes(Function::Execute), 0);
}

async fn cors_preflight_is_answered() {
    let cloud = start(quiet()).await;
    let url = format!("{}/api/ai/agent/sessions/s", cloud.url());
    let request = reqwest::Client::new().request(reqwest::Method::OPTIONS, url).send().await.unwrap();
    assert_eq!(request.status(), 204);
    assert_eq!(request.headers()["access-control-allow-methods"], "GET,PATCH,DELETE,OPTIONS");
    let allowed = request.headers()["access-control-allow-headers"].to_str().unwrap();
    assert!(allowed.split(',').any(|header| header == "last-event-id"), "{allowed}");
}

async fn stream_arrives_in_chunks() {
    let cloud = start(quiet()).await;
    let response = call(&cloud, json!({"do": "stream", "ms": 300})).await;
    let mut chunks = response.bytes_stream();
    let first = chunks.next().await.unwrap().unwrap();
    let at = Instant::now();
    assert_eq!(&first[..], b"one ");
    let rest: Vec<_> = chunks.map(|chunk| chunk.unwrap()).collect().await;
    assert_eq!(rest.concat(), b"two three");
    assert!(at.elapsed() > Duration::from_millis(400));
}

// ---- Processes.

async fn crashed_process_fails_invocation_and_is_replaced() {
    let cloud = start(quiet()).await;
    let before = json(call(&cloud, json!({})).await).await;
    assert_eq!(code(call(&cloud, json!({"do": "exit"})).await).await, (502, "FunctionFailed".into()));
    let after = json(call(&cloud, json!({})).await).await;
    assert_ne!(before["pid"], after["pid"]);
    assert_eq!(cloud.processes(Function::Execute), 1);
}

async fn panicking_function_fails_invocation() {
    let cloud = start(quiet()).await;
    assert_eq!(code(call(&cloud, json!({"do": "panic"})).await).await, (502, "FunctionFailed".into()));
    assert_eq!(call(&cloud, json!({})).await.status(), 202);
}

async fn process_crash_while_streaming_breaks_body() {
    let cloud = start(quiet()).await;
    let response = call(&cloud, json!({"do": "exit while streaming"})).await;
    assert_eq!(response.status(), 200);
    assert!(response.bytes().await.is_err());
}

async fn processes_are_reused_and_cap_throttles_clients() {
    let cloud = start(Options { concurrency: 2, ..quiet() }).await;
    let slow = || post(&cloud, json!({"do": "sleep", "ms": 1500})).send();
    let (first, second) = (tokio::spawn(slow()), tokio::spawn(slow()));
    eventually("two processes", || cloud.processes(Function::Execute) == 2).await;
    let throttled = call(&cloud, json!({})).await;
    assert_eq!(throttled.headers()["retry-after"], "1");
    assert_eq!(code(throttled).await, (429, "TooManyRequests".into()));
    assert_eq!(first.await.unwrap().unwrap().text().await.unwrap(), "slept");
    assert_eq!(second.await.unwrap().unwrap().text().await.unwrap(), "slept");
    for _ in 0..20 {
        assert_eq!(call(&cloud, json!({})).await.status(), 202);
    }
    assert_eq!(cloud.processes(Function::Execute), 2);
}

async fn function_is_killed_after_timeout() {
    let cloud = start(Options { timeout: Some(Duration::from_millis(500)), ..quiet() }).await;
    let pid = json(call(&cloud, json!({})).await).await["pid"].clone();
    let slow = call(&cloud, json!({"do": "sleep", "ms": 60_000})).await;
    assert_eq!(code(slow).await, (504, "FunctionTimedOut".into()));
    assert_ne!(json(call(&cloud, json!({})).await).await["pid"], pid);
}

async fn invocation_continues_without_client() {
    let cloud = start(quiet()).await;
    let folder = tempfile::tempdir().unwrap();
    let touched = folder.path().join("touched");
    let request = json!({"do": "sleep", "ms": 600, "then_touch": touched});
    let gone = post(&cloud, request).timeout(Duration::from_millis(300)).send().await;
    assert!(gone.is_err());
    assert!(!touched.exists());
    eventually("the function continues", || touched.exists()).await;
}

async fn stream_is_drained_after_client_disconnects() {
    let cloud = start(quiet()).await;
    let folder = tempfile::tempdir().unwrap();
    let touched = folder.path().join("touched");
    let request = json!({"do": "stream, then touch", "ms": 1, "chunks": 300, "then_touch": touched});
    let mut chunks = call(&cloud, request).await.bytes_stream();
    assert!(chunks.next().await.unwrap().unwrap().starts_with(b"some "));
    drop(chunks);
    assert!(!touched.exists());
    eventually("the stream's end", || touched.exists()).await;
    assert_eq!(call(&cloud, json!({})).await.status(), 202);
    assert_eq!(cloud.processes(Function::Execute), 1, "the process keeps serving");
}

async fn shutdown_stops_every_process() {
    let cloud = start(quiet()).await;
    let pid = json(call(&cloud, json!({})).await).await["pid"].as_u64().unwrap();
    let process = format!("/proc/{pid}");
    assert!(!Path::new("/proc/self").exists() || Path::new(&process).exists());
    cloud.shutdown().await;
    assert!(!Path::new(&process).exists());
}

// ---- The event source.

async fn send(cloud: &Cloud, body: &str) {
    let queue = &cloud.endpoints().finalize_queue;
    cloud.sqs().send_message().queue_url(queue).message_body(body).send().await.unwrap();
}

async fn dead_letters(cloud: &Cloud) -> Vec<String> {
    let queue = &cloud.endpoints().dead_letter_queue;
    let received = cloud.sqs().receive_message().queue_url(queue).max_number_of_messages(10);
    let received = received.send().await.unwrap().messages.unwrap_or_default();
    received.into_iter().map(|message| message.body.unwrap()).collect()
}

fn with_deliveries(folder: &Path) -> (Options, impl Fn() -> String) {
    let file = folder.join("deliveries");
    let name = file.to_str().unwrap().to_owned();
    let options = Options {
        visibility: Some(Duration::from_secs(1)),
        environment: BTreeMap::from([("DELIVERIES".to_owned(), name)]),
        ..quiet()
    };
    (options, move || std::fs::read_to_string(&file).unwrap_or_default())
}

async fn failed_message_is_retried_and_becomes_dead_letter() {
    let folder = tempfile::tempdir().unwrap();
    let (options, deliveries) = with_deliveries(folder.path());
    let cloud = start(options).await;
    cloud.pause_finalizer().await;
    send(&cloud, "good").await;
    send(&cloud, "fail").await;
    cloud.resume_finalizer().await;
    eventually("five deliveries", || deliveries().contains("fail 5")).await;
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut dead = Vec::new();
    while dead.is_empty() && Instant::now() < deadline {
        dead = dead_letters(&cloud).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(dead, ["fail"]);
    assert_eq!(deliveries(), "good 1\nfail 1\nfail 2\nfail 3\nfail 4\nfail 5\n");
}

async fn paused_event_source_delivers_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (options, deliveries) = with_deliveries(folder.path());
    let cloud = start(options).await;
    cloud.pause_finalizer().await;
    cloud.sweep().await.unwrap();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(deliveries(), "");
    cloud.resume_finalizer().await;
    eventually("the sweep is delivered", || !deliveries().is_empty()).await;
    assert!(deliveries().contains("sweep"));
}

// ---- The data folder.

async fn data_folder_keeps_items_objects_and_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let options = || Options { data: Data::Folder(folder.path().to_owned()), ..quiet() };
    let cloud = start(options()).await;
    let put = cloud.s3().put_object().bucket(cloud.bucket()).key("a/b").if_none_match("*");
    put.body(Bytes::from_static(b"kept").into()).send().await.unwrap();
    let text = |text: &str| aws_sdk_dynamodb::types::AttributeValue::S(text.to_owned());
    let put = cloud.dynamodb().put_item().table_name(cloud.table());
    put.item("PK", text("p")).item("SK", text("s")).send().await.unwrap();
    let token = cloud.token(&Identity::user("acme", "ada")).unwrap();
    cloud.shutdown().await;

    let cloud = start(options()).await;
    let again = cloud.s3().put_object().bucket(cloud.bucket()).key("a/b").if_none_match("*");
    assert!(again.send().await.is_err());
    let object = cloud.s3().get_object().bucket(cloud.bucket()).key("a/b").send().await.unwrap();
    assert_eq!(&object.body.collect().await.unwrap().into_bytes()[..], b"kept");
    let get = cloud.dynamodb().get_item().table_name(cloud.table()).consistent_read(true);
    assert!(get.key("PK", text("p")).key("SK", text("s")).send().await.unwrap().item.is_some());
    assert!(cloud.tokens().verify(Some(&token)).is_ok());
}

async fn data_folder_of_other_format_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("cloud");
    let options = || Options { data: Data::Folder(data.clone()), ..quiet() };
    start(options()).await.shutdown().await;
    let marker = data.join("format");
    assert_eq!(std::fs::read_to_string(&marker).unwrap(), "3\n");
    start(options()).await.shutdown().await;
    for (format, why) in [
        (None, "by an older version of aptix (format 1; this version reads format 3)"),
        (Some("1"), "by an older version of aptix (format 1; this version reads format 3)"),
        (Some("4\n"), "by a newer version of aptix (format 4; this version reads format 3)"),
        (Some("two"), "an unreadable format marker"),
        (Some(""), "an unreadable format marker"),
    ] {
        match format {
            Some(format) => std::fs::write(&marker, format).unwrap(),
            None => std::fs::remove_file(&marker).unwrap(),
        }
        let error = Cloud::start(options()).await.err().unwrap().to_string();
        assert!(error.contains(why) && error.contains("--data FOLDER"), "{format:?}: {error}");
        assert!(error.contains(data.to_str().unwrap()) && !error.contains('\n'), "{format:?}: {error}");
        assert_eq!(std::fs::read_to_string(&marker).ok().as_deref(), format, "the marker is unchanged");
    }
    std::fs::write(&marker, "3").unwrap();
    start(options()).await.shutdown().await;
}

async fn empty_data_folder_starts() {
    let folder = tempfile::tempdir().unwrap();
    start(Options { data: Data::Folder(folder.path().to_owned()), ..quiet() }).await.shutdown().await;
    assert_eq!(std::fs::read_to_string(folder.path().join("format")).unwrap(), "3\n");
}

async fn ttl_is_enabled_after_interrupted_provisioning() {
    let folder = tempfile::tempdir().unwrap();
    let options = || Options { data: Data::Folder(folder.path().to_owned()), ..quiet() };
    let cloud = start(options()).await;
    // Simulates a kill between creating the table and enabling its TTL.
    let never =
        TimeToLiveSpecification::builder().enabled(false).attribute_name("ExpiresAt").build().unwrap();
    let unset = cloud.dynamodb().update_time_to_live().table_name(cloud.table());
    unset.time_to_live_specification(never).send().await.unwrap();
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let put = cloud.dynamodb().put_item().table_name(cloud.table()).item("PK", text("p"));
    put.item("SK", text("s")).item("ExpiresAt", AttributeValue::N("1".to_owned())).send().await.unwrap();
    cloud.shutdown().await;

    let cloud = start(options()).await;
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let get = cloud.dynamodb().get_item().table_name(cloud.table()).consistent_read(true);
        let found = get.key("PK", text("p")).key("SK", text("s")).send().await.unwrap();
        if found.item.is_none() {
            return;
        }
        assert!(Instant::now() < deadline, "the item has not expired");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn object_keys_have_s3_length_limit() {
    let cloud = start(quiet()).await;
    let key = format!("{}/{}", "%E6%97%A5".repeat(60), "x".repeat(1024 - 541));
    let put = cloud.s3().put_object().bucket(cloud.bucket()).key(&key).content_type("text/x");
    put.body(Bytes::from_static(b"kept").into()).send().await.unwrap();
    let object = cloud.s3().get_object().bucket(cloud.bucket()).key(&key).send().await.unwrap();
    assert_eq!(object.content_type(), Some("text/x"));
    assert_eq!(&object.body.collect().await.unwrap().into_bytes()[..], b"kept");
    let listed = cloud.s3().list_objects_v2().bucket(cloud.bucket()).send().await.unwrap();
    assert_eq!(listed.contents()[0].key(), Some(key.as_str()));
    let longer = cloud.s3().put_object().bucket(cloud.bucket()).key(key + "x");
    assert!(longer.send().await.is_err());
}

async fn exactly_one_conditional_writer_wins() {
    let cloud = start(quiet()).await;
    let writers = (0..20).map(|n| {
        let put = cloud.s3().put_object().bucket(cloud.bucket()).key("contested").if_none_match("*");
        tokio::spawn(put.body(Bytes::from(n.to_string()).into()).send())
    });
    let results = futures::future::join_all(writers.collect::<Vec<_>>()).await;
    assert_eq!(results.into_iter().filter(|result| result.as_ref().unwrap().is_ok()).count(), 1);
}

// ---- Running the tests.

/// Tests that run at the same time.
const CONCURRENT_TESTS: usize = 4;

type Test = (&'static str, fn() -> Pin<Box<dyn Future<Output = ()>>>);

macro_rules! tests {
    ($($name:ident,)*) => { [$((stringify!($name), || Box::pin($name()))),*] };
}

static TESTS: [Test; 21] = tests![
    request_reaches_function_and_reply_reaches_client,
    function_environment_hides_developer_variables,
    gateway_refusals_have_envelope,
    cors_preflight_is_answered,
    stream_arrives_in_chunks,
    crashed_process_fails_invocation_and_is_replaced,
    panicking_function_fails_invocation,
    process_crash_while_streaming_breaks_body,
    processes_are_reused_and_cap_throttles_clients,
    function_is_killed_after_timeout,
    invocation_continues_without_client,
    stream_is_drained_after_client_disconnects,
    shutdown_stops_every_process,
    failed_message_is_retried_and_becomes_dead_letter,
    paused_event_source_delivers_nothing,
    data_folder_keeps_items_objects_and_tokens,
    data_folder_of_other_format_is_refused,
    empty_data_folder_starts,
    ttl_is_enabled_after_interrupted_provisioning,
    object_keys_have_s3_length_limit,
    exactly_one_conditional_writer_wins,
];

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "function") {
        serve_function();
        return ExitCode::SUCCESS;
    }
    let filter = arguments.iter().find(|word| !word.starts_with('-'));
    let chosen = TESTS.iter().filter(|(name, _)| filter.is_none_or(|filter| name.contains(filter.as_str())));
    if arguments.iter().any(|word| word == "--list") {
        chosen.for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let (queue, failed) = (Mutex::new(chosen), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..CONCURRENT_TESTS {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().next();
                    let Some((name, test)) = next else { return };
                    let runtime = tokio::runtime::Runtime::new().unwrap();
                    let passed = std::panic::catch_unwind(|| runtime.block_on(test())).is_ok();
                    println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
                    failed.fetch_add(usize::from(!passed), Ordering::Relaxed);
                }
            });
        }
    });
    ExitCode::from(u8::from(failed.into_inner() > 0))
}
