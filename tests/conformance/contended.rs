//! What S3 says and the local cloud never does: another conditional write is in the way.

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
use turns::ports::Payloads;

/// An S3 that refuses so many writes before it takes one, its address, and how often it was asked.
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
        .endpoint_url(url)
        .force_path_style(true)
        .build();
    Objects::new(aws_sdk_s3::Client::from_conf(config), "bucket".to_owned())
}

fn payload() -> Payload {
    let session = SessionKey { org: OrgId::new("acme").unwrap(), session: SessionId::new("s").unwrap() };
    let kind = Kind::File { address: FileAddress::of_bytes(b"x"), name: "x".to_owned() };
    Payload { turn: session.turn(TurnId::new("t").unwrap()), kind }
}

#[tokio::test]
async fn a_write_that_another_one_is_in_the_way_of_is_tried_again() {
    let (url, asked) = contended(2).await;
    bucket(&url).put(&payload(), Bytes::from_static(b"x")).await.expect("it is stored");
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_write_that_others_are_in_the_way_of_for_ever_is_given_up() {
    let (url, asked) = contended(usize::MAX).await;
    bucket(&url).put(&payload(), Bytes::from_static(b"x")).await.expect_err("it is not stored");
    assert_eq!(asked.load(Ordering::SeqCst), 3, "the SDK's own number of attempts");
}
