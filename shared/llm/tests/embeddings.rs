//! The embeddings client, over the loopback, against a provider with scripted answers.

// Clippy allows `unwrap` only in functions marked as tests, and not in their helpers.
#![allow(clippy::unwrap_used)]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use llm::embeddings::{EmbeddingBatch, EmbeddingModel, Embeddings, Limits};
use llm::key::KeySource;
use llm::retry::Policy;
use llm::{ApiKey, Config, Error};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const DEADLINE: Duration = Duration::from_secs(20);

/// The received requests: authorization and body.
type Requests = Arc<Mutex<Vec<(String, Value)>>>;

/// A provider that gives these answers, one per connection, and then closes connections.
async fn provider(answers: Vec<(u16, Value)>) -> (String, Requests) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1/", listener.local_addr().unwrap());
    let requests = Requests::default();
    let received = Arc::clone(&requests);
    tokio::spawn(async move {
        let mut answers = VecDeque::from(answers);
        while let Ok((connection, _)) = listener.accept().await {
            let Some((status, body)) = answers.pop_front() else { continue };
            answer(connection, status, &body, &received).await;
        }
    });
    (base, requests)
}

async fn answer(mut connection: TcpStream, status: u16, body: &Value, received: &Requests) {
    let mut read = Vec::new();
    let (head, request) = loop {
        let mut piece = [0; 4096];
        let count = connection.read(&mut piece).await.unwrap();
        read.extend_from_slice(piece.get(..count).unwrap());
        let text = String::from_utf8_lossy(&read).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let member = |name: &str| {
            let line = head.lines().find(|line| line.to_lowercase().starts_with(name))?;
            line.split_once(": ").map(|(_, value)| value.to_owned())
        };
        if body.len() >= member("content-length").unwrap().parse().unwrap() {
            break (member("authorization").unwrap(), serde_json::from_str(body).unwrap());
        }
    };
    received.lock().unwrap().push((head, request));
    let body = body.to_string();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    connection.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
}

fn vectors(values: &[f32]) -> Value {
    let data: Vec<Value> = values.iter().map(|value| json!({ "embedding": [value, 1.0] })).collect();
    json!({ "data": data, "usage": { "prompt_tokens": values.len() } })
}

/// A client with batches of at most two texts and one immediate retry.
fn client<K: KeySource>(base: String, keys: K) -> Embeddings<K> {
    let retry = Policy { retries: 1, initial_backoff: Duration::ZERO, max_backoff: Duration::ZERO };
    let limits = Limits { texts: 2, bytes: 1_000 };
    Embeddings::new(Config { base_url: base, retry, ..Config::default() }, limits, keys).unwrap()
}

async fn embed<K: KeySource>(client: &Embeddings<K>, texts: &[&str]) -> Result<EmbeddingBatch, Error> {
    let model = EmbeddingModel { name: "m".to_owned(), dimensions: Some(2) };
    client.embed(&model, texts, DEADLINE).await
}

#[tokio::test]
async fn batched_texts_yield_vectors_in_order() {
    let (base, requests) = provider(vec![(200, vectors(&[1.0, 2.0])), (200, vectors(&[3.0]))]).await;
    let embedded = embed(&client(base, ApiKey::new("key")), &["a", "b", "c"]).await.unwrap();
    assert_eq!(embedded.vectors, [[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]]);
    assert_eq!(embedded.tokens, 3);
    let requests = requests.lock().unwrap().clone();
    let expected = |input: &[&str]| {
        let body = json!({ "model": "m", "dimensions": 2, "encoding_format": "float", "input": input });
        ("Bearer key".to_owned(), body)
    };
    assert_eq!(requests, [expected(&["a", "b"]), expected(&["c"])]);
}

#[tokio::test]
async fn outage_is_retried_and_rejection_is_not() {
    let error = json!({ "error": { "message": "no", "code": "x" } });
    let (base, requests) = provider(vec![(503, error.clone()), (200, vectors(&[1.0]))]).await;
    embed(&client(base, ApiKey::new("key")), &["a"]).await.unwrap();
    assert_eq!(requests.lock().unwrap().len(), 2);

    let (base, requests) = provider(vec![(400, error), (200, vectors(&[1.0]))]).await;
    let rejected = embed(&client(base, ApiKey::new("key")), &["a"]).await;
    assert_eq!((rejected, requests.lock().unwrap().len()), (Err(Error::Rejected { status: 400 }), 1));
}

#[tokio::test]
async fn unusable_vectors_are_not_requested_again() {
    let (base, requests) = provider(vec![(200, vectors(&[1.0, 2.0])), (200, vectors(&[1.0]))]).await;
    let malformed = embed(&client(base, ApiKey::new("key")), &["a"]).await;
    assert_eq!((malformed, requests.lock().unwrap().len()), (Err(Error::Malformed), 1));
}

/// A key source with a rotated key.
struct RotatedKey;

impl KeySource for RotatedKey {
    async fn key(&self, rejected: Option<&ApiKey>) -> Result<ApiKey, Error> {
        Ok(ApiKey::new(rejected.map_or("old", |_| "new")))
    }
}

#[tokio::test]
async fn rejected_key_is_refreshed_once() {
    let error = json!({ "error": { "message": "no" } });
    let (base, requests) = provider(vec![(401, error.clone()), (200, vectors(&[1.0]))]).await;
    embed(&client(base, RotatedKey), &["a"]).await.unwrap();
    let keys: Vec<String> = requests.lock().unwrap().iter().map(|(key, _)| key.clone()).collect();
    assert_eq!(keys, ["Bearer old", "Bearer new"]);

    let (base, _) = provider(vec![(401, error)]).await;
    assert_eq!(embed(&client(base, ApiKey::new("key")), &["a"]).await, Err(Error::Unauthenticated));
}
