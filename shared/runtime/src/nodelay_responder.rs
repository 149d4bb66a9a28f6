//! Sends streaming responses over a connection with `TCP_NODELAY`.
//!
//! `lambda_runtime` leaves Nagle's algorithm on for the Runtime API. A small chunk then waits until the previous one
//! is acknowledged, which Linux delays by up to 40 ms. `lambda_runtime` accepts no other connector, but it accepts a
//! layer, and a layer receives the invocation. So invocations arrive over its connection, and responses leave over
//! one of ours. The measurements and the proposal to `lambda_runtime` are in `docs/internals/upstream.md`. Once that
//! is accepted, remove this file.

use std::{
    any::Any,
    convert::Infallible,
    panic::AssertUnwindSafe,
    sync::Arc,
    task::{Context, Poll},
};

use axum::Router;
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use contracts::json_bytes;
use futures::{FutureExt, Stream, StreamExt, future::BoxFuture, stream};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use http_body::Frame;
use http_body_util::StreamBody;
use hyper_util::client::legacy::connect::HttpConnector;
use lambda_http::{
    Error, LambdaEvent, Service, StreamAdapter,
    lambda_runtime::{LambdaInvocation, MetadataPrelude, StreamResponse, layers::TracingLayer},
    request::LambdaRequest,
    streaming_runtime_concurrent,
    tower::layer::layer_fn,
};
use lambda_runtime_api_client::{PooledClient, PooledClientBuilder, body, build_request};
use settings::Env;

use crate::{
    concurrency,
    isolation::{self, INVOCATION_ID},
    memory::MemoryBudget,
    message_responder::MessageLayer,
    process::contain,
    tasks,
};

/// The content type of an HTTP integration response: its head is JSON and precedes its body.
const INTEGRATION_CONTENT_TYPE: &str = "application/vnd.awslambda.http-integration-response";
/// The bytes that end the head.
const HEAD_TERMINATOR: [u8; 8] = [0; 8];
/// The trailers that report a response that was cut short.
const ERROR_TYPE: &str = "lambda-runtime-function-error-type";
const ERROR_BODY: &str = "lambda-runtime-function-error-body";

/// Serves the routes until the Lambda service ends the process.
///
/// # Errors
/// Fails if the Runtime API is gone.
pub(crate) async fn serve(routes: Router, messages: MessageLayer) -> Result<(), Error> {
    let inner = streaming_runtime_concurrent(routes.clone()).layer(messages);
    let client = Arc::new(client(PooledClient::builder()));
    let reporter = Arc::clone(&client);
    let responder = layer_fn(move |inner| NodelayResponder {
        routes: routes.clone(),
        inner,
        client: Arc::clone(&client),
    });
    let runtime = inner.layer(responder).layer(tasks::layer());
    if concurrency::limit() == 1 {
        return runtime.layer(TracingLayer::new()).run_concurrent().await;
    }
    let memory = MemoryBudget::read(&mut Env::from_process()).layer();
    runtime.layer(memory).layer(isolation::layer(reporter)).layer(TracingLayer::new()).run_concurrent().await
}

/// Builds a client that sends each chunk immediately.
///
/// It pools no connections: an idle one may be gone by the next invocation, and a stream can't be retried.
fn client(builder: PooledClientBuilder) -> PooledClient {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    builder.with_connector(connector).with_pool_size(0).build()
}

/// Responds to invocations over a client of its own.
#[derive(Clone)]
struct NodelayResponder<S> {
    routes: Router,
    /// Handles messages, and reports events that are neither messages nor HTTP requests.
    inner: S,
    client: Arc<PooledClient>,
}

impl<S> Service<LambdaInvocation> for NodelayResponder<S>
where
    S: Service<LambdaInvocation, Response = (), Error = Error>,
    S::Future: Send + 'static,
{
    type Response = ();
    type Error = Error;
    type Future = BoxFuture<'static, Result<(), Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, invocation: LambdaInvocation) -> Self::Future {
        let Some(event) = request(&invocation.body) else {
            return self.inner.call(invocation).boxed();
        };
        let LambdaInvocation { parts, context, .. } = invocation;
        let (request_id, client) = (context.request_id.clone(), Arc::clone(&self.client));
        let path = format!("/2018-06-01/runtime/invocation/{request_id}/response");
        let mut routes = StreamAdapter::from(self.routes.clone());
        // `lambda_http` panics on a body that is not the Base64 that the event says, and on a path or query that is no URI.
        let Some(answered) = contain(|| routes.call(LambdaEvent::new(event, context))) else {
            let invocation_id = parts.headers.get(INVOCATION_ID).cloned();
            return isolation::report_invalid_event(client, request_id, invocation_id).boxed();
        };
        async move {
            let Ok(StreamResponse { metadata_prelude, stream }) = answered.await;
            let mut request = build_request()
                .method(Method::POST)
                .uri(path)
                .header(header::CONTENT_TYPE, INTEGRATION_CONTENT_TYPE)
                .header("lambda-runtime-function-response-mode", "streaming")
                .header(header::TRAILER, ERROR_TYPE)
                .header(header::TRAILER, ERROR_BODY)
                .body(body(metadata_prelude, stream)?)?;
            if let Some(id) = parts.headers.get(INVOCATION_ID) {
                request.headers_mut().insert(INVOCATION_ID, id.clone());
            }
            let status = client.call(request).await?.status();
            if !status.is_success() {
                tracing::error!(status = status.as_u16(), "{}", contracts::log::RESPONSE_REJECTED);
            }
            Ok(())
        }
        .boxed()
    }
}

/// Parses an event of a REST API, or of an HTTP API as `cargo lambda watch` sends it. `LambdaRequest` would
/// deserialize it from a copy of the event, and a body may have megabytes.
fn request(event: &[u8]) -> Option<LambdaRequest> {
    let rest_event = json_bytes::from_slice(event).map(LambdaRequest::ApiGatewayV1);
    rest_event.or_else(|_| json_bytes::from_slice(event).map(LambdaRequest::ApiGatewayV2)).ok()
}

/// Builds the body that the Runtime API expects: the head, its terminator and each chunk, in frames of their own as
/// `lambda_runtime` sends them. `cargo lambda watch` reads no other framing.
fn body<S>(mut head: MetadataPrelude, pieces: S) -> Result<body::Body, Error>
where
    S: Stream<Item = Result<Bytes, axum::Error>> + Send + 'static,
{
    let any = HeaderValue::from_static("application/octet-stream");
    head.headers.entry(header::CONTENT_TYPE).or_insert(any);
    let head = [Bytes::from(serde_json::to_vec(&head)?), Bytes::from_static(&HEAD_TERMINATOR)];
    let pieces = AssertUnwindSafe(pieces).catch_unwind().map(|piece| match piece {
        Ok(Ok(data)) => Frame::data(data),
        Ok(Err(error)) => Frame::trailers(error_trailers(&error)),
        Err(panic) => Frame::trailers(panic_trailers(panic.as_ref())),
    });
    let frames = stream::iter(head.map(Frame::data)).chain(pieces);
    Ok(body::Body::new(StreamBody::new(frames.map(Ok::<_, Infallible>))))
}

/// The trailers for a response that was cut short.
fn error_trailers(error: &axum::Error) -> HeaderMap {
    tracing::error!(%error, "{}", contracts::log::RESPONSE_INTERRUPTED);
    trailers("Runtime.StreamError", &error.to_string())
}

/// The trailers for a response whose rest panicked. The panic hook has printed the message, and no client may see it.
fn panic_trailers(_: &(dyn Any + Send)) -> HeaderMap {
    tracing::error!("{}", contracts::log::HANDLER_PANICKED);
    trailers("Runtime.Panic", "The service failed.")
}

fn trailers(kind: &'static str, message: &str) -> HeaderMap {
    let message = HeaderValue::try_from(STANDARD.encode(message));
    let kind = HeaderValue::from_static(kind);
    let message = message.ok().map(|message| (HeaderName::from_static(ERROR_BODY), message));
    message.into_iter().chain([(HeaderName::from_static(ERROR_TYPE), kind)]).collect()
}

#[cfg(test)]
mod tests {
    use std::{future::ready, io::ErrorKind, sync::Mutex, time::Duration};

    use axum::{body::Body, routing::get};
    use futures::channel::mpsc;
    use lambda_http::lambda_runtime::service_fn;
    use serde_json::json;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::{TcpListener, TcpStream},
        time::timeout,
    };

    use super::*;

    type Pieces = mpsc::UnboundedSender<Result<Bytes, axum::Error>>;

    /// A streaming response, seen from the function and from the Runtime API.
    struct Answer {
        pieces: Option<Pieces>,
        connection: TcpStream,
        read: String,
        ended: BoxFuture<'static, Result<(), Error>>,
    }

    impl Answer {
        async fn begin() -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let endpoint = format!("http://{}", listener.local_addr().unwrap());
            let client = client(PooledClient::builder().with_endpoint(endpoint.parse().unwrap()));
            let (pieces, streamed) = mpsc::unbounded();
            let streamed = Arc::new(Mutex::new(Some(streamed)));
            let answer = move || async move { Body::from_stream(streamed.lock().unwrap().take().unwrap()) };
            let mut responder = NodelayResponder {
                routes: Router::new().route("/", get(answer)),
                inner: service_fn(|_| ready(Err("it is a request".into()))),
                client: Arc::new(client),
            };
            let event = json!({"path": "/", "httpMethod": "GET", "headers": {}, "multiValueHeaders": {},
                               "requestContext": {"httpMethod": "GET", "identity": {}}, "isBase64Encoded": false});
            let ended = tokio::spawn(responder.call(invocation(&event.to_string())));
            let (connection, _) = listener.accept().await.unwrap();
            let ended = async move { ended.await.unwrap() }.boxed();
            Self { pieces: Some(pieces), connection, read: String::new(), ended }
        }

        fn send(&self, piece: Result<&'static str, axum::Error>) {
            self.pieces.as_ref().unwrap().unbounded_send(piece.map(Bytes::from)).unwrap();
        }

        /// Reads until the input ends with `end`, and acknowledges as late as possible.
        async fn read_to(&mut self, end: &str) -> &str {
            while !self.read.ends_with(end) {
                self.connection.readable().await.unwrap();
                // Set before every read: after a late acknowledgement the kernel sends the next one early.
                #[cfg(target_os = "linux")]
                socket2::SockRef::from(&self.connection).set_tcp_quickack(false).unwrap();
                let mut read = [0; 4096];
                let length = match self.connection.try_read(&mut read) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                    read => read.unwrap(),
                };
                assert_ne!(length, 0, "{end:?} does not come: {:?}", self.read);
                self.read.push_str(std::str::from_utf8(&read[..length]).unwrap());
            }
            &self.read
        }

        async fn end(mut self) {
            self.connection.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n").await.unwrap();
            self.ended.await.unwrap();
        }
    }

    fn invocation(event: &str) -> LambdaInvocation {
        let (mut parts, ()) = http::Response::new(()).into_parts();
        parts.headers.insert(INVOCATION_ID, HeaderValue::from_static("once"));
        let mut context = lambda_http::Context::default();
        context.request_id = "one".to_owned();
        LambdaInvocation { parts, body: Bytes::from(event.to_owned()), context }
    }

    /// Each chunk is sent after the previous one has arrived and before it is acknowledged. The kernel acknowledges
    /// the first chunks of a connection at once, whatever the reader asks for. With Nagle's algorithm every later
    /// chunk is 40 ms late, so it is enough that some are not, however loaded the machine is.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn chunk_is_sent_without_waiting_for_acknowledgement() {
        let mut answer = Answer::begin().await;
        let mut delays = Vec::new();
        for _ in 0..40 {
            let sent = std::time::Instant::now();
            answer.send(Ok("a delta"));
            answer.read.clear();
            answer.read_to("a delta\r\n").await;
            delays.push(sent.elapsed());
        }
        let at_once = delays.iter().skip(20).filter(|wait| **wait < Duration::from_millis(20)).count();
        assert!(at_once > 5, "{at_once} of 20 pieces came at once: {delays:?}");
        answer.pieces = None;
        answer.read_to("0\r\n\r\n").await;
        answer.end().await;
    }

    #[tokio::test]
    async fn response_has_http_integration_framing() {
        let mut answer = Answer::begin().await;
        answer.send(Ok("Hello"));
        let text = answer.read_to("5\r\nHello\r\n").await;
        assert!(text.starts_with("POST /2018-06-01/runtime/invocation/one/response HTTP/1.1\r\n"), "{text}");
        for header in [
            "content-type: application/vnd.awslambda.http-integration-response",
            "lambda-runtime-function-response-mode: streaming",
            "lambda-runtime-invocation-id: once",
            "transfer-encoding: chunked",
        ] {
            assert!(text.contains(&format!("\r\n{header}\r\n")), "{header}: {text}");
        }
        let head = r#"{"statusCode":200,"headers":{"content-type":"application/octet-stream"},"cookies":[]}"#;
        assert!(text.contains(&format!("\r\n{head}\r\n8\r\n\0\0\0\0\0\0\0\0\r\n")), "{text}");
        answer.pieces = None;
        answer.read_to("\r\n0\r\n\r\n").await;
        answer.end().await;
    }

    #[tokio::test]
    async fn truncated_response_reports_error_in_trailers() {
        let mut answer = Answer::begin().await;
        answer.send(Err(axum::Error::new("lost")));
        let text = answer.read_to(": Runtime.StreamError\r\n\r\n").await.to_owned();
        assert!(text.contains("\r\n0\r\n"), "{text}");
        assert!(text.contains("\r\nlambda-runtime-function-error-type: Runtime.StreamError\r\n"), "{text}");
        assert!(text.contains("\r\nlambda-runtime-function-error-body: bG9zdA==\r\n"), "{text}");
        answer.end().await;
    }

    #[tokio::test]
    async fn event_that_is_no_request_is_reported() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let mut responder = NodelayResponder {
            routes: Router::new(),
            inner: service_fn(|_| ready(Err("it is a request".into()))),
            client: Arc::new(client(PooledClient::builder().with_endpoint(endpoint.parse().unwrap()))),
        };
        let valid = json!({"path": "/", "httpMethod": "POST", "headers": {}, "multiValueHeaders": {},
                           "requestContext": {"httpMethod": "POST", "identity": {}}, "isBase64Encoded": true});
        let long = "x".repeat(70_000);
        for invalid in [json!({"body": "%%%"}), json!({"body": "aGk"}), json!({"path": format!("/{long}")})] {
            let mut event = valid.clone();
            event.as_object_mut().unwrap().extend(invalid.as_object().unwrap().clone());
            let ended = tokio::spawn(responder.call(invocation(&event.to_string())));
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut read = vec![0; 4096];
            let mut text = String::new();
            while !text.ends_with('}') {
                let length = connection.read(&mut read).await.unwrap();
                text.push_str(std::str::from_utf8(&read[..length]).unwrap());
            }
            assert!(text.starts_with("POST /2018-06-01/runtime/invocation/one/error HTTP/1.1\r\n"), "{text}");
            assert!(text.contains("\r\nlambda-runtime-invocation-id: once\r\n"), "{text}");
            assert!(text.contains(r#""errorType":"Runtime.InvalidEvent""#), "{text}");
            connection.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n").await.unwrap();
            ended.await.unwrap().unwrap();
        }
    }

    #[tokio::test]
    async fn non_http_event_is_passed_to_the_runtime() {
        let mut responder = NodelayResponder {
            routes: Router::new(),
            inner: service_fn(|_| ready(Err("it is no request".into()))),
            client: Arc::new(client(
                PooledClient::builder().with_endpoint("http://[::1]:1".parse().unwrap()),
            )),
        };
        let answered = timeout(Duration::from_secs(10), responder.call(invocation("7"))).await.unwrap();
        assert_eq!(answered.unwrap_err().to_string(), "it is no request");
    }
}
