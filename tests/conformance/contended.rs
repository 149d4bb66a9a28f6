//! Behavior of S3 that the local cloud never shows, injected by a proxy.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region};
use axum::http::StatusCode;
use bytes::Bytes;
use contracts::{
    FileAddress,
    id::{OrgId, SessionId, TurnId},
};
use protocol::{
    id::SessionKey,
    payload::{Kind, Payload},
};
use storage::Objects;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::mpsc,
};
use turns::ports::Payloads;

/// Starts an S3 that refuses this many writes before it accepts one. Returns its address and its request count.
async fn contended(refusals: usize) -> (String, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let answer = move || {
        let before = count.fetch_add(1, Ordering::SeqCst);
        let conflict = "<Error><Code>ConditionalRequestConflict</Code><Message>Again.</Message></Error>";
        std::future::ready(match before < refusals {
            true => (StatusCode::CONFLICT, conflict),
            false => (StatusCode::OK, ""),
        })
    };
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(answer)).await });
    (url, asked)
}

fn bucket(url: &str) -> Objects {
    let config = aws_sdk_s3::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("a", "b", None, None, "a test"))
        .http_client(storage::loopback_client())
        .endpoint_url(url)
        .force_path_style(true)
        .build();
    Objects::new(aws_sdk_s3::Client::from_conf(config), "bucket".to_owned())
}

fn payload() -> Payload {
    let session = SessionKey { org: OrgId::new("acme").unwrap(), session: SessionId::new("s").unwrap() };
    let kind = Kind::File { address: FileAddress::hash_bytes(b"x"), name: "x".to_owned() };
    Payload { turn: session.turn(TurnId::new("t").unwrap()), kind }
}

#[tokio::test]
async fn contended_write_is_retried() {
    let (url, asked) = contended(2).await;
    bucket(&url).put(&payload(), Bytes::from_static(b"x")).await.expect("it is stored");
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn write_contended_forever_is_given_up() {
    let (url, asked) = contended(usize::MAX).await;
    bucket(&url).put(&payload(), Bytes::from_static(b"x")).await.expect_err("it is not stored");
    assert_eq!(asked.load(Ordering::SeqCst), 3, "the SDK's own number of attempts");
}

/// Starts an S3 that disconnects this many times before it answers. Returns its address and its request count.
async fn disconnecting(times: usize) -> (String, Arc<AtomicUsize>) {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    tokio::spawn(async move {
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            let mut request = [0; 16 * 1_024];
            _ = client.read(&mut request).await;
            if count.fetch_add(1, Ordering::SeqCst) >= times {
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                client.write_all(answer).await.unwrap();
                // Read the request: unread bytes would reset the connection before the response.
                _ = client.read_to_end(&mut Vec::new()).await;
            }
        }
    });
    (url, asked)
}

#[tokio::test]
async fn write_with_a_broken_connection_is_retried() {
    let (url, asked) = disconnecting(2).await;
    bucket(&url).put(&payload(), Bytes::from_static(b"x")).await.expect("it is stored");
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn missing_bucket_is_an_error_without_a_key_name() {
    let (url, _) = disconnecting(usize::MAX).await;
    let error = bucket(&url).put(&payload(), Bytes::from_static(b"x")).await.expect_err("nobody answers");
    let told = contracts::error::causes(&error).to_string();
    assert!(told.starts_with("the payload bucket is unavailable: "), "{told}");
    assert!(!told.contains("acme") && !format!("{error:?}").contains("acme"), "{told} {error:?}");
}

/// The signature covers the path as the SDK wrote it, but an HTTP client may normalize paths.
#[tokio::test]
async fn object_path_reaches_s3_as_signed() {
    let (paths, mut reached) = mpsc::unbounded_channel();
    let answer = move |uri: axum::http::Uri| {
        _ = paths.send(uri.path().to_owned());
        std::future::ready(StatusCode::OK)
    };
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(answer)).await });
    let bucket = bucket(&url);
    for name in ["x", "a b.txt", "..%2e%2e", "%2e", "ü/\\?#&=+|^`{}", "'(!*)~;:@$,\"<>"] {
        let mut payload = payload();
        payload.kind = Kind::File { address: FileAddress::hash_bytes(b"x"), name: name.to_owned() };
        bucket.put(&payload, Bytes::from_static(b"x")).await.unwrap();
        // Besides slashes and unreserved characters, a key holds only percent signs.
        let signed = format!("/bucket/{}", storage::key::object(&payload).replace('%', "%25"));
        assert_eq!(reached.recv().await.unwrap(), signed);
    }
}
