//! Exchanges with servers of the test's own, over real sockets.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use egress::{Bounds, Failure, Guard, Loopback, Response};
use futures::{FutureExt, future::BoxFuture};
use http::{Request, StatusCode};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

const BOUNDS: Bounds = Bounds { time: Duration::from_secs(20), body_bytes: 1_000 };

/// A server that gives one answer to every connection and counts the requests.
struct Server {
    port: u16,
    requests: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// `answer` is written once the head of a request has arrived. `None` closes the connection instead.
    async fn start(answer: Option<&str>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let (port, requests) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
        let (answer, counted) = (answer.map(str::to_owned), Arc::clone(&requests));
        let connections: Arc<AtomicUsize> = Arc::default();
        let accepted = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                accepted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(answer_one(stream, answer.clone(), Arc::clone(&counted)));
            }
        });
        Self { port, requests, connections }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/path?a=b", self.port)
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    fn count(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

async fn answer_one(mut stream: TcpStream, answer: Option<String>, requests: Arc<AtomicUsize>) {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    requests.fetch_add(1, Ordering::SeqCst);
    let head = String::from_utf8(head).unwrap();
    if let Some(answer) = answer {
        let _ = stream.write_all(answer.replace("HEAD", &head.replace("\r\n", "|")).as_bytes()).await;
    }
}

fn guard() -> Guard {
    Guard::new(Loopback::ExceptPorts(Vec::new()), Vec::new())
}

async fn send(url: &str, may_send: bool) -> Result<Response, Failure> {
    guard().send(url, Request::new(Bytes::new()), BOUNDS, &|| may_send).await
}

fn answer(head: &str, body: &str) -> String {
    format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn request_has_path_host_and_no_reuse() {
    let server = Server::start(Some("HTTP/1.1 200 OK\r\n\r\nHEAD")).await;
    let response = send(&server.url(), true).await.unwrap();
    let head = String::from_utf8(response.body.to_vec()).unwrap();
    assert!(head.starts_with("GET /path?a=b HTTP/1.1|"), "{head}");
    for header in
        [&format!("host: 127.0.0.1:{}|", server.port), "connection: close|", "accept-encoding: identity|"]
    {
        assert!(head.to_lowercase().contains(header), "{header}: {head}");
    }
    assert_eq!(server.count(), 1);
}

#[tokio::test]
async fn redirect_to_any_class_is_returned_and_never_followed() {
    let inner = Server::start(Some(&answer("200 OK", "inner"))).await;
    let own = format!("http://127.0.0.1:{}/", inner.port);
    for status in [301, 302, 303, 307, 308] {
        for location in
            [own.as_str(), "http://169.254.169.254/", "https://10.0.0.1/", "http://[::1]/", "//evil.example/"]
        {
            let head = format!("{status} Moved\r\nlocation: {location}");
            let server = Server::start(Some(&answer(&head, ""))).await;
            let response = send(&server.url(), true).await.unwrap();
            assert_eq!((response.status.as_u16(), server.count()), (status, 1), "{location}");
        }
    }
    assert_eq!(inner.count(), 0);
}

#[tokio::test]
async fn nothing_is_written_unless_the_sender_may_send() {
    let server = Server::start(Some(&answer("200 OK", ""))).await;
    let failure = send(&server.url(), false).await.unwrap_err();
    assert_eq!((failure.is_unsent(), &failure), (true, &Failure::NotAllowed));
    assert_eq!(send(&server.url(), true).await.unwrap().status, StatusCode::OK);
    assert_eq!(server.count(), 1);
}

#[tokio::test]
async fn connection_of_an_unsent_request_serves_the_next_one_once() {
    let (server, guard) = (Server::start(Some(&answer("200 OK", ""))).await, guard());
    let send = async |may_send: bool| {
        guard.send(&server.url(), Request::new(Bytes::new()), BOUNDS, &|| may_send).await
    };
    assert_eq!(send(false).await.unwrap_err(), Failure::NotAllowed);
    assert_eq!(send(false).await.unwrap_err(), Failure::NotAllowed);
    assert_eq!(server.count(), 0);
    assert_eq!(send(true).await.unwrap().status, StatusCode::OK);
    assert_eq!((server.count(), server.connections()), (1, 1));
    assert_eq!(send(true).await.unwrap().status, StatusCode::OK);
    assert_eq!((server.count(), server.connections()), (2, 2));
}

#[tokio::test]
async fn response_that_is_not_whole_is_broken() {
    for (sent, expected) in [
        (None, "closed"),
        (Some("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf".to_owned()), "cut"),
        (Some("no HTTP\r\n\r\n".to_owned()), "closed"),
        (Some(answer("200 OK", &"x".repeat(1_001))), "too large"),
        (Some(answer("200 OK\r\ncontent-encoding: gzip", "x")), "compressed"),
        (Some(format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(1_000_000))), "closed"),
    ] {
        let server = Server::start(sent.as_deref()).await;
        let failure = send(&server.url(), true).await.unwrap_err();
        assert!(!failure.is_unsent() && failure.to_string().contains(expected), "{expected}: {failure}");
        assert_eq!(server.count(), 1, "{expected}");
    }
}

#[tokio::test]
async fn response_that_never_ends_is_given_up() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://127.0.0.1:{}/", listener.local_addr().unwrap().port());
    let bounds = Bounds { time: Duration::from_millis(300), ..BOUNDS };
    // The backlog accepts the connection, and nobody answers.
    let failure = guard().send(&url, Request::new(Bytes::new()), bounds, &|| true).await.unwrap_err();
    assert_eq!((failure.is_unsent(), failure.to_string().contains("time is over")), (false, true));
}

#[tokio::test]
async fn closed_port_is_a_failure_before_the_send() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://127.0.0.1:{}/", listener.local_addr().unwrap().port());
    drop(listener);
    assert!(matches!(send(&url, true).await, Err(Failure::NotConnected(_))));
}

#[tokio::test]
async fn untrusted_certificate_is_a_failure_before_the_send() {
    let server = tls_server().await;
    let failure = send(&format!("https://localhost:{server}/"), true).await.unwrap_err();
    assert!(failure.is_unsent() && failure.to_string().contains("certificate"), "{failure}");
}

/// Starts a TLS server with a certificate that nobody trusts.
async fn tls_server() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = rustls::crypto::aws_lc_rs::default_provider().into();
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = acceptor.accept(stream).await;
        }
    });
    port
}

/// A name service that maps every name to this machine.
struct ToLoopback;

impl egress::Resolve for ToLoopback {
    fn addresses<'a>(&'a self, _: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
        async { Ok(vec![IpAddr::from([127, 0, 0, 1])]) }.boxed()
    }
}

#[tokio::test]
async fn name_that_leads_to_this_machine_is_refused_before_the_connection() {
    let server = Server::start(Some(&answer("200 OK", ""))).await;
    let allowed = vec![format!("inner.example:{}", server.port).parse().unwrap()];
    let guard = Guard::new(Loopback::Forbidden, allowed).with_resolver(Arc::new(ToLoopback));
    let url = format!("https://inner.example:{}/", server.port);
    let failure = guard.send(&url, Request::new(Bytes::new()), BOUNDS, &|| true).await.unwrap_err();
    assert!(matches!(failure, Failure::Refused(_)), "{failure}");
    assert_eq!(server.count(), 0);
}
