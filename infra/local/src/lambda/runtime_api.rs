//! The Lambda Runtime API, which function processes poll for events and send their replies to.
//!
//! One server serves every process. The first two path segments are the function and the process, so that only the
//! process with the invocation can reply to it.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Request, Response, StatusCode};
use axum::routing::{get, post};
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use tokio::sync::mpsc::{self, error::TrySendError};

use super::instance::{Delivery, Instance};
use super::invocation::{InvokeError, PARTS_IN_FLIGHT, Part, Reply};
use super::service::Lambda;
use crate::account::{ACCOUNT, REGION};
use crate::client_wait::{ClientWait, MAX_WAIT_UNDER_LOAD};
use crate::function::Function;

/// Largest buffered reply, in bytes.
const MAX_BUFFERED_BYTES: usize = 6 * 1024 * 1024;
/// Largest streamed reply, in bytes.
const MAX_STREAMED_BYTES: usize = 200 * 1024 * 1024;
/// Largest error report, in bytes.
const MAX_ERROR_BYTES: usize = 256 * 1024;

type ProcessPath = Path<(String, String)>;
type InvocationPath = Path<(String, String, String)>;

/// Returns the Runtime API of every process.
pub(crate) fn router(lambda: Arc<Lambda>) -> Router {
    let api = Router::new()
        .route("/invocation/next", get(next))
        .route("/invocation/{request_id}/response", post(response))
        .route("/invocation/{request_id}/error", post(error))
        .route("/init/error", post(init_error));
    Router::new().nest("/{function}/{instance}/2018-06-01/runtime", api).with_state(lambda)
}

async fn next(State(lambda): State<Arc<Lambda>>, Path((function, id)): ProcessPath) -> Response<Body> {
    let Some(instance) = lambda.instance(&function, &id) else {
        return status(StatusCode::FORBIDDEN);
    };
    match instance.next().await {
        Some(delivery) => event(&instance, delivery),
        None => status(StatusCode::GONE),
    }
}

fn event(instance: &Instance, delivery: Delivery) -> Response<Body> {
    let name = instance.function.name();
    let deadline = SystemTime::now() + instance.timeout;
    let deadline = deadline.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    // An X-Ray root id is the time in hex, followed by 96 bits.
    let trace = format!("{:08x}-{:.24}", deadline.as_secs(), delivery.request_id.replace('-', ""));
    let built = Response::builder()
        .header("content-type", "application/json")
        .header("lambda-runtime-aws-request-id", &delivery.request_id)
        .header("lambda-runtime-deadline-ms", deadline.as_millis().to_string())
        .header(
            "lambda-runtime-invoked-function-arn",
            format!("arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}"),
        )
        .header("lambda-runtime-trace-id", format!("Root=1-{trace};Sampled=0"))
        .body(Body::from(delivery.event));
    built.unwrap_or_else(|_| status(StatusCode::INTERNAL_SERVER_ERROR))
}

async fn response(
    State(lambda): State<Arc<Lambda>>,
    Path((function, id, request_id)): InvocationPath,
    request: Request<Body>,
) -> Response<Body> {
    let Some(instance) = lambda.instance(&function, &id) else {
        return status(StatusCode::FORBIDDEN);
    };
    let Some(reply) = instance.begin_reply(&request_id) else {
        return status(StatusCode::BAD_REQUEST);
    };
    let streaming = is_streaming(request.headers());
    let (parts, received) = mpsc::channel(PARTS_IN_FLIGHT);
    // The caller may be gone; the function continues as it does on AWS.
    let _ = reply.send(Ok(Reply { streaming, parts: received }));
    let limit = if streaming { MAX_STREAMED_BYTES } else { MAX_BUFFERED_BYTES };
    let mut reader =
        Reader { lambda, function: instance.function, parts: Some(parts), wait: ClientWait::default() };
    let is_complete = copy(request.into_body(), &mut reader, limit).await;
    // Before the reply ends, so that a client that calls again immediately waits for this instance.
    instance.mark_answered(&request_id);
    if let (true, Some(parts)) = (is_complete, reader.parts) {
        // A slow reader is waited for here and not by the function, which polls for more work.
        tokio::spawn(async move { parts.send(Part::End).await.is_ok() });
    }
    status(StatusCode::ACCEPTED)
}

fn is_streaming(headers: &HeaderMap) -> bool {
    let mode = headers.get("lambda-runtime-function-response-mode");
    mode.is_some_and(|mode| mode.as_bytes().eq_ignore_ascii_case(b"streaming"))
}

/// The reader of a reply.
struct Reader {
    lambda: Arc<Lambda>,
    function: Function,
    /// None once the reader is gone or given up.
    parts: Option<mpsc::Sender<Part>>,
    wait: ClientWait,
}

impl Reader {
    /// Waits until the reader has taken this part of the reply. Gives up a reader that makes no progress if its process
    /// is needed for another invocation; the reply is then truncated.
    async fn send(&mut self, data: Bytes) {
        let Some(parts) = &self.parts else { return };
        if parts.capacity() == parts.max_capacity() {
            self.wait.end();
        }
        let bytes = data.len();
        let is_sent = match parts.try_send(Part::Data(data)) {
            Ok(()) => true,
            Err(TrySendError::Closed(_)) => false,
            Err(TrySendError::Full(part)) => {
                self.wait.begin();
                let mut sent = pin!(parts.send(part));
                loop {
                    tokio::select! {
                        sent = &mut sent => break sent.is_ok(),
                        () = self.lambda.starved(self.function) => {
                            if self.wait.elapsed() >= MAX_WAIT_UNDER_LOAD {
                                break false;
                            }
                        }
                    }
                }
            }
        };
        if is_sent {
            self.wait.progress(bytes);
        } else {
            self.parts = None;
        }
    }
}

/// Forwards the body as it arrives. Returns false if it broke off, or if the function reports an error in a trailer.
async fn copy(mut body: Body, reader: &mut Reader, limit: usize) -> bool {
    let mut copied = 0;
    loop {
        match body.frame().await {
            None => return true,
            Some(Err(_)) => return false,
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => {
                    copied += data.len();
                    if copied > limit {
                        return false;
                    }
                    // The reader may be gone; the function's reply is still read to its end.
                    reader.send(data).await;
                }
                Err(frame) => {
                    let trailers = frame.into_trailers().unwrap_or_default();
                    if trailers.contains_key("lambda-runtime-function-error-type") {
                        return false;
                    }
                }
            },
        }
    }
}

async fn error(
    State(lambda): State<Arc<Lambda>>,
    Path((function, id, request_id)): InvocationPath,
    body: Body,
) -> Response<Body> {
    let Some(instance) = lambda.instance(&function, &id) else {
        return status(StatusCode::FORBIDDEN);
    };
    let report = report(body).await;
    if let Some(reply) = instance.begin_reply(&request_id) {
        let report = String::from_utf8_lossy(&report).into_owned();
        let _ = reply.send(Err(InvokeError::Function(report)));
    }
    instance.mark_answered(&request_id);
    status(StatusCode::ACCEPTED)
}

/// Accepts the report of a process that can't start and exits. The reason is also in its log.
async fn init_error(
    State(lambda): State<Arc<Lambda>>,
    Path((function, id)): ProcessPath,
    body: Body,
) -> Response<Body> {
    let _ = report(body).await;
    match lambda.instance(&function, &id) {
        Some(_) => status(StatusCode::ACCEPTED),
        None => status(StatusCode::FORBIDDEN),
    }
}

async fn report(body: Body) -> Bytes {
    let report = Limited::new(body, MAX_ERROR_BYTES).collect().await;
    report.map(|report| report.to_bytes()).unwrap_or_default()
}

fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
