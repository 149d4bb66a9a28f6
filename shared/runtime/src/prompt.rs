//! Streamed answers that leave at once.
//!
//! `lambda_runtime` leaves Nagle's algorithm on towards the Runtime API: a small piece of an answer waits until the piece
//! before it is acknowledged, which Linux puts off for up to 40 ms. It takes no other connector, but it takes a layer,
//! and a layer gets the invocation. So invocations come by its connection, and answers leave by one of ours. What is
//! measured, and what is proposed to `lambda_runtime`, is in `docs/upstream.md`; with that, this file goes.

use std::{
    convert::Infallible,
    future::ready,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{Router, body::Body};
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
    lambda_runtime::{LambdaInvocation, MetadataPrelude, Runtime, StreamResponse, layers::TracingLayer},
    request::LambdaRequest,
    tower::layer::layer_fn,
};
use lambda_runtime_api_client::{PooledClient, PooledClientBuilder, body, build_request};

/// What says that the answer is of an HTTP integration: its head comes as JSON, before its body.
const INTEGRATION: &str = "application/vnd.awslambda.http-integration-response";
/// What ends the head.
const HEAD_ENDS: [u8; 8] = [0; 8];
/// The invocation's name beside its request id; what is late for one invocation can't answer another.
const INVOCATION_ID: &str = "lambda-runtime-invocation-id";
/// The trailers of an answer that broke off.
const ERROR_TYPE: &str = "lambda-runtime-function-error-type";
const ERROR_BODY: &str = "lambda-runtime-function-error-body";

/// Serves routes until the Lambda service ends the process.
///
/// # Errors
/// When the Runtime API is gone.
pub(crate) async fn serve(routes: Router) -> Result<(), Error> {
    let inner = Runtime::new(StreamAdapter::from(routes.clone()));
    let client = Arc::new(client(PooledClient::builder()));
    let prompt = layer_fn(|inner| {
        let (routes, client) = (StreamAdapter::from(routes.clone()), Arc::clone(&client));
        Prompt { routes, inner, client }
    });
    inner.layer(prompt).layer(TracingLayer::new()).run().await
}

/// A client that sends what it is given as it is given it.
///
/// It keeps no connection: one that idles until the next invocation may be gone by then, and a stream can't be sent
/// again.
fn client(builder: PooledClientBuilder) -> PooledClient {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    builder.with_connector(connector).with_pool_size(0).build()
}

/// Answers invocations over a client of its own.
struct Prompt<S> {
    routes: StreamAdapter<'static, Router, Body>,
    /// The runtime's own way to answer, which reports an event that is no request.
    inner: S,
    client: Arc<PooledClient>,
}

impl<S> Service<LambdaInvocation> for Prompt<S>
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
        let path = format!("/2018-06-01/runtime/invocation/{}/response", context.request_id);
        let answered = self.routes.call(LambdaEvent::new(event, context));
        let client = Arc::clone(&self.client);
        async move {
            let Ok(StreamResponse { metadata_prelude, stream }) = answered.await;
            let mut request = build_request()
                .method(Method::POST)
                .uri(path)
                .header(header::CONTENT_TYPE, INTEGRATION)
                .header("lambda-runtime-function-response-mode", "streaming")
                .header(header::TRAILER, ERROR_TYPE)
                .header(header::TRAILER, ERROR_BODY)
                .body(body(metadata_prelude, stream)?)?;
            if let Some(id) = parts.headers.get(INVOCATION_ID) {
                request.headers_mut().insert(INVOCATION_ID, id.clone());
            }
            let status = client.call(request).await?.status();
            if !status.is_success() {
                tracing::error!(status = status.as_u16(), "the Runtime API refused an answer");
            }
            Ok(())
        }
        .boxed()
    }
}

/// The request of an event: of a REST API, or of an HTTP API as `cargo lambda watch` sends it. `LambdaRequest` reads the
/// same from a copy of the event, and a body may be megabytes.
fn request(event: &[u8]) -> Option<LambdaRequest> {
    let of_rest = json_bytes::read(event).map(LambdaRequest::ApiGatewayV1);
    of_rest.or_else(|_| json_bytes::read(event).map(LambdaRequest::ApiGatewayV2)).ok()
}

/// An answer as the Runtime API takes it: the head, and then each piece as it comes.
fn body<S>(mut head: MetadataPrelude, pieces: S) -> Result<body::Body, Error>
where
    S: Stream<Item = Result<Bytes, axum::Error>> + Send + 'static,
{
    let any = HeaderValue::from_static("application/octet-stream");
    head.headers.entry(header::CONTENT_TYPE).or_insert(any);
    let mut head = serde_json::to_vec(&head)?;
    head.extend(HEAD_ENDS);
    let pieces = pieces.map(|piece| piece.map_or_else(|error| Frame::trailers(broken(&error)), Frame::data));
    let frames = stream::once(ready(Frame::data(head.into()))).chain(pieces);
    Ok(body::Body::new(StreamBody::new(frames.map(Ok::<_, Infallible>))))
}

/// What is told of an answer that broke off.
fn broken(error: &axum::Error) -> HeaderMap {
    tracing::error!(%error, "an answer broke off");
    let told = HeaderValue::try_from(STANDARD.encode(error.to_string()));
    let kind = HeaderValue::from_static("Runtime.StreamError");
    let told = told.ok().map(|told| (HeaderName::from_static(ERROR_BODY), told));
    told.into_iter().chain([(HeaderName::from_static(ERROR_TYPE), kind)]).collect()
}

#[cfg(test)]
mod tests {
    use std::{io::ErrorKind, sync::Mutex, time::Duration};

    use axum::routing::get;
    use futures::channel::mpsc;
    use lambda_http::lambda_runtime::service_fn;
    use serde_json::json;
    use tokio::{
        io::AsyncWriteExt,
        net::{TcpListener, TcpStream},
        time::timeout,
    };

    use super::*;

    type Pieces = mpsc::UnboundedSender<Result<Bytes, axum::Error>>;

    /// A streamed answer, from the function's side and from the Runtime API's.
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
            let mut prompt = Prompt {
                routes: StreamAdapter::from(Router::new().route("/", get(answer))),
                inner: service_fn(|_| ready(Err("it is a request".into()))),
                client: Arc::new(client),
            };
            let event = json!({"path": "/", "httpMethod": "GET", "headers": {}, "multiValueHeaders": {},
                               "requestContext": {"httpMethod": "GET", "identity": {}}, "isBase64Encoded": false});
            let ended = tokio::spawn(prompt.call(invocation(&event.to_string())));
            let (connection, _) = listener.accept().await.unwrap();
            let ended = async move { ended.await.unwrap() }.boxed();
            Self { pieces: Some(pieces), connection, read: String::new(), ended }
        }

        fn send(&self, piece: Result<&'static str, axum::Error>) {
            self.pieces.as_ref().unwrap().unbounded_send(piece.map(Bytes::from)).unwrap();
        }

        /// Reads until there is `end`, and acknowledges as late as can be.
        async fn read_to(&mut self, end: &str) -> &str {
            while !self.read.ends_with(end) {
                self.connection.readable().await.unwrap();
                // Told now, since an acknowledgement that was late makes the next one prompt.
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

    /// Each piece is handed over when the one before has arrived and is not acknowledged yet. The first of a connection
    /// are acknowledged at once, whatever the reader wishes. With Nagle's algorithm every later one comes 40 ms late,
    /// so it is enough that some do not, however loaded the machine is.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_piece_does_not_wait_for_the_acknowledgement_of_the_one_before() {
        let mut answer = Answer::begin().await;
        let mut waits = Vec::new();
        for _ in 0..40 {
            let sent = std::time::Instant::now();
            answer.send(Ok("a delta"));
            answer.read.clear();
            answer.read_to("a delta\r\n").await;
            waits.push(sent.elapsed());
        }
        let at_once = waits.iter().skip(20).filter(|wait| **wait < Duration::from_millis(20)).count();
        assert!(at_once > 5, "{at_once} of 20 pieces came at once: {waits:?}");
        answer.pieces = None;
        answer.read_to("0\r\n\r\n").await;
        answer.end().await;
    }

    #[tokio::test]
    async fn an_answer_is_one_of_an_http_integration() {
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
        assert!(text.contains(&format!("\r\n{head}\0\0\0\0\0\0\0\0\r\n")), "{text}");
        answer.pieces = None;
        answer.read_to("\r\n0\r\n\r\n").await;
        answer.end().await;
    }

    #[tokio::test]
    async fn an_answer_that_breaks_off_says_so_in_its_trailers() {
        let mut answer = Answer::begin().await;
        answer.send(Err(axum::Error::new("lost")));
        let text = answer.read_to(": Runtime.StreamError\r\n\r\n").await.to_owned();
        assert!(text.contains("\r\n0\r\n"), "{text}");
        assert!(text.contains("\r\nlambda-runtime-function-error-type: Runtime.StreamError\r\n"), "{text}");
        assert!(text.contains("\r\nlambda-runtime-function-error-body: bG9zdA==\r\n"), "{text}");
        answer.end().await;
    }

    #[tokio::test]
    async fn an_event_that_is_no_request_is_left_to_the_runtime() {
        let mut prompt = Prompt {
            routes: StreamAdapter::from(Router::new()),
            inner: service_fn(|_| ready(Err("it is no request".into()))),
            client: Arc::new(client(
                PooledClient::builder().with_endpoint("http://[::1]:1".parse().unwrap()),
            )),
        };
        let answered = timeout(Duration::from_secs(10), prompt.call(invocation("7"))).await.unwrap();
        assert_eq!(answered.unwrap_err().to_string(), "it is no request");
    }
}
