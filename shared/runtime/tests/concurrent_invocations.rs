//! One process that serves 64 invocations at a time, through the real `lambda_runtime` and an emulated Runtime API.
//!
//! The process is this executable: settings come from its environment, which a test must not change for the others.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use std::{
    collections::HashMap,
    convert::Infallible,
    env,
    future::pending,
    process::{Child, Command, Stdio},
    sync::{Arc, LazyLock, Mutex},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Path, State},
    http::{Response, StatusCode},
    routing::{get, post},
};
use futures::{StreamExt, future::join_all, stream};
use http_body_util::BodyExt;
use runtime::api::{ResponseMode, serve};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::{Barrier, Mutex as AsyncMutex, mpsc, oneshot},
    time::timeout,
};

/// Set in the process that is the function.
const CHILD: &str = "CONCURRENT_INVOCATIONS_CHILD";
/// The invocations that the function serves at a time.
const CONCURRENCY: usize = 64;
/// The invocations that misbehave.
const MISBEHAVING: [&str; 5] = ["/panic", "/panic-in-stream", "/overlong", "/overlong-stream", INVALID_BODY];
/// The path of an event whose body is no Base64.
const INVALID_BODY: &str = "/invalid-body";
/// The time of an invocation that exceeds it.
const SHORT: Duration = Duration::from_secs(2);
/// The longest wait of the test. It only ends a test that hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Lets its invocations pass only together, so that all of them are in the process at the same time.
static BESIDE_FAILURES: LazyLock<Barrier> = LazyLock::new(|| Barrier::new(CONCURRENCY - MISBEHAVING.len()));
static EVERY_WORKER: LazyLock<Barrier> = LazyLock::new(|| Barrier::new(CONCURRENCY));

/// Serves as the function. Does nothing in the tests' own process.
#[test]
fn child_serves_invocations() {
    if env::var_os(CHILD).is_some() {
        let _ = runtime::run("execute", || serve(routes(), ResponseMode::Streaming));
    }
}

fn routes() -> Router {
    Router::new()
        .route("/beside-failures", get(|| pass(&BESIDE_FAILURES)))
        .route("/every-worker", get(|| pass(&EVERY_WORKER)))
        .route("/panic", get(panics))
        .route("/panic-in-stream", get(|| async { after_first(async { panic!("in the stream") }) }))
        .route("/overlong", get(pending::<&'static str>))
        .route("/overlong-stream", get(|| async { after_first(pending()) }))
}

async fn panics() -> &'static str {
    panic!("on purpose")
}

async fn pass(barrier: &'static Barrier) -> &'static str {
    barrier.wait().await;
    "passed"
}

/// Returns a stream whose first chunk arrives, and whose second is up to `rest`.
fn after_first(rest: impl Future<Output = Bytes> + Send + 'static) -> Body {
    let chunks = stream::once(async { Bytes::from_static(b"first") }).chain(stream::once(rest));
    Body::from_stream(chunks.map(Ok::<_, Infallible>))
}

/// The end of an invocation, as the Runtime API sees it.
#[derive(Debug)]
enum Outcome {
    /// A complete response: its head and its body.
    Complete(Value, String),
    /// A response that ended with an error of this type in its trailers.
    Trailer(String),
    /// A response whose connection broke.
    Broken,
    /// The report of an error of this type, instead of a response.
    Report(String),
}

/// An emulated Runtime API.
#[derive(Clone)]
struct RuntimeApi {
    events: mpsc::UnboundedSender<(String, Duration)>,
    queue: Arc<AsyncMutex<mpsc::UnboundedReceiver<(String, Duration)>>>,
    waiting: Arc<Mutex<HashMap<String, oneshot::Sender<Outcome>>>>,
}

impl RuntimeApi {
    fn new() -> Self {
        let (events, queue) = mpsc::unbounded_channel();
        Self { events, queue: Arc::new(AsyncMutex::new(queue)), waiting: Arc::default() }
    }

    fn router(self) -> Router {
        let api = Router::new()
            .route("/next", get(next))
            .route("/{id}/response", post(response))
            .route("/{id}/error", post(error));
        Router::new().nest("/2018-06-01/runtime/invocation", api).with_state(self)
    }

    /// Invokes the function with a path. The number makes the request id unique.
    async fn invoke(&self, path: &str, number: usize, time: Duration) -> Outcome {
        let (sender, outcome) = oneshot::channel();
        let id = format!("{}-{number}", path.trim_start_matches('/'));
        self.waiting.lock().unwrap().insert(id.clone(), sender);
        self.events.send((id, time)).unwrap();
        timeout(PATIENCE, outcome).await.unwrap_or_else(|_| panic!("{path} {number} has no outcome")).unwrap()
    }

    /// Ends an invocation. Only its first end counts.
    fn end(&self, id: &str, outcome: Outcome) {
        if let Some(waiting) = self.waiting.lock().unwrap().remove(id) {
            waiting.send(outcome).unwrap();
        }
    }
}

async fn next(State(api): State<RuntimeApi>) -> Response<Body> {
    let (id, time) = api.queue.lock().await.recv().await.unwrap();
    let path = id.rsplit_once('-').unwrap().0;
    let event = json!({"path": format!("/{path}"), "httpMethod": "GET", "headers": {}, "multiValueHeaders": {},
                       "requestContext": {"httpMethod": "GET", "identity": {}}, "body": "%",
                       "isBase64Encoded": path == INVALID_BODY.trim_start_matches('/')});
    let deadline = (SystemTime::now() + time).duration_since(UNIX_EPOCH).unwrap();
    Response::builder()
        .header("lambda-runtime-aws-request-id", &id)
        .header("lambda-runtime-deadline-ms", deadline.as_millis().to_string())
        .header("lambda-runtime-invoked-function-arn", "arn:aws:lambda:us-east-1:1:function:execute")
        .body(Body::from(event.to_string()))
        .unwrap()
}

async fn response(State(api): State<RuntimeApi>, Path(id): Path<String>, mut body: Body) -> StatusCode {
    let mut bytes = Vec::new();
    let outcome = loop {
        match body.frame().await {
            None => break complete(&bytes),
            Some(Err(_)) => break Outcome::Broken,
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => bytes.extend_from_slice(&data),
                Err(frame) => {
                    let trailers = frame.into_trailers().unwrap();
                    let kind = trailers["lambda-runtime-function-error-type"].to_str().unwrap().to_owned();
                    break Outcome::Trailer(kind);
                }
            },
        }
    };
    api.end(&id, outcome);
    StatusCode::ACCEPTED
}

/// Splits a response into its head and its body.
fn complete(bytes: &[u8]) -> Outcome {
    let end = bytes.windows(8).position(|bytes| bytes == [0; 8]).unwrap();
    let body = String::from_utf8(bytes[end + 8..].to_vec()).unwrap();
    Outcome::Complete(serde_json::from_slice(&bytes[..end]).unwrap(), body)
}

async fn error(State(api): State<RuntimeApi>, Path(id): Path<String>, body: Bytes) -> StatusCode {
    let report: Value = serde_json::from_slice(&body).unwrap();
    api.end(&id, Outcome::Report(report["errorType"].as_str().unwrap().to_owned()));
    StatusCode::ACCEPTED
}

/// The function's process, which is killed when dropped.
struct Function(Child);

impl Function {
    fn start(runtime_api: &str) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "child_serves_invocations", "--nocapture"]).stdout(Stdio::null());
        command
            .env(CHILD, "1")
            .env("AWS_LAMBDA_RUNTIME_API", runtime_api)
            .env("AWS_LAMBDA_FUNCTION_NAME", "execute")
            .env("AWS_LAMBDA_FUNCTION_VERSION", "1")
            .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "2048")
            .env("AWS_LAMBDA_MAX_CONCURRENCY", CONCURRENCY.to_string());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn assert_passed(outcome: &Outcome) {
    let Outcome::Complete(head, body) = outcome else { panic!("{outcome:?}") };
    assert_eq!((&head["statusCode"], body.as_str()), (&json!(200), "passed"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_invocations_affect_none_of_64_in_one_process() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let api = RuntimeApi::new();
    tokio::spawn(axum::serve(listener, api.clone().router()).into_future());
    let mut function = Function::start(&format!("http://{address}"));

    // The others wait for each other, so they are served beside those that fail.
    let time = |path: &str| if path.contains("overlong") { SHORT } else { PATIENCE };
    let failing = join_all(MISBEHAVING.map(|path| api.invoke(path, 0, time(path))));
    let others = (MISBEHAVING.len()..CONCURRENCY).map(|n| api.invoke("/beside-failures", n, PATIENCE));
    let (failed, passed) = tokio::join!(failing, join_all(others));
    passed.iter().for_each(assert_passed);
    let [panicked, panicked_stream, overlong, overlong_stream, invalid] = &failed[..] else {
        panic!("{failed:?}")
    };
    let Outcome::Complete(head, body) = panicked else { panic!("{panicked:?}") };
    assert_eq!(head["statusCode"], 500);
    assert!(body.contains(r#""ErrorCode":"Internal""#), "{body}");
    assert!(
        matches!(panicked_stream, Outcome::Trailer(kind) if kind == "Runtime.Panic"),
        "{panicked_stream:?}"
    );
    assert!(matches!(overlong, Outcome::Report(kind) if kind == "Runtime.Timeout"), "{overlong:?}");
    // The response breaks off, and then the invocation is reported. Either may arrive first.
    assert!(matches!(overlong_stream, Outcome::Broken | Outcome::Report(_)), "{overlong_stream:?}");

    assert!(matches!(invalid, Outcome::Report(kind) if kind == "Runtime.InvalidEvent"), "{invalid:?}");

    // Every worker still polls.
    let again = (0..CONCURRENCY).map(|n| api.invoke("/every-worker", n, PATIENCE));
    join_all(again).await.iter().for_each(assert_passed);
    assert!(function.0.try_wait().unwrap().is_none(), "the process has ended");
}
