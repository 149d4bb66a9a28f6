//! Tests of clients that stop sending or reading: they delay nobody else.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use contracts::paths::EXECUTE;
use local::token::Identity;
use local::{Cloud, Options};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::{call, quiet, start};

/// The longest time that an honest client may wait beside the others.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends the first bytes of a request's body on a connection of its own.
async fn half_request(cloud: &Cloud, body: &str, length: usize) -> TcpStream {
    let address: SocketAddr = cloud.url().strip_prefix("http://").unwrap().parse().unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let token = cloud.token(&Identity::user("acme", "ada")).unwrap();
    let request = format!(
        "POST {EXECUTE} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

async fn assert_served(cloud: &Cloud, what: &str) {
    let asked = Instant::now();
    let answer = tokio::time::timeout(PATIENCE, call(cloud, json!({}))).await;
    let waited = asked.elapsed();
    assert_eq!(answer.unwrap_or_else(|_| panic!("{what}: no answer")).status(), 202, "{what}: {waited:?}");
}

pub(crate) async fn half_sent_bodies_delay_nobody() {
    let cloud = start(quiet()).await;
    assert_served(&cloud, "before").await;
    let mut half_sent = Vec::new();
    for _ in 0..1_100 {
        half_sent.push(half_request(&cloud, "{", 100).await);
    }
    assert_served(&cloud, "beside half-sent bodies").await;
    // One byte at a time is no progress either.
    for stream in &mut half_sent {
        let _ = stream.write_all(b" ").await;
    }
    assert_served(&cloud, "beside slow bodies").await;
}

pub(crate) async fn unread_responses_delay_nobody() {
    let cloud = start(Options { concurrency: 4, ..quiet() }).await;
    assert_served(&cloud, "before").await;
    let request: Value = json!({"do": "fill", "chunks": 2_000});
    let body = request.to_string();
    let mut unread = Vec::new();
    for _ in 0..390 {
        unread.push(half_request(&cloud, &body, body.len()).await);
    }
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_served(&cloud, "beside unread responses").await;
    drop(unread);
    assert_served(&cloud, "afterwards").await;
}

pub(crate) async fn paused_reader_gets_its_whole_response_if_nobody_waits() {
    let cloud = start(quiet()).await;
    let mut response = call(&cloud, json!({"do": "fill", "chunks": 2_000})).await;
    let mut bytes = response.chunk().await.unwrap().unwrap().len();
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_served(&cloud, "beside a paused reader").await;
    while let Some(chunk) = response.chunk().await.unwrap() {
        bytes += chunk.len();
    }
    assert_eq!(bytes, 2_000 * 16 * 1024);
}
