//! Embeddings over the loopback, from a provider that answers as it is told.

// The helpers are test code too, which clippy knows of functions marked as tests only.
#![allow(clippy::unwrap_used)]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use llm::embeddings::{Embedded, EmbeddingModel, Embeddings, Limits};
use llm::key::Keys;
use llm::retry::Policy;
use llm::{ApiKey, Config, Error};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const DEADLINE: Duration = Duration::from_secs(20);

/// What a provider was sent: the authorization and the body.
type Sent = Arc<Mutex<Vec<(String, Value)>>>;

/// A provider that gives these answers, one per connection, and then none.
async fn provider(answers: Vec<(u16, Value)>) -> (String, Sent) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1/", listener.local_addr().unwrap());
    let sent = Sent::default();
    let seen = Arc::clone(&sent);
    tokio::spawn(async move {
        let mut answers = VecDeque::from(answers);
        while let Ok((connection, _)) = listener.accept().await {
            let Some((status, body)) = answers.pop_front() else { continue };
            answer(connection, status, &body, &seen).await;
        }
    });
    (base, sent)
}

async fn answer(mut connection: TcpStream, status: u16, body: &Value, seen: &Sent) {
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
    seen.lock().unwrap().push((head, request));
    let body = body.to_string();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    connection.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
}

fn vectors(of: &[f32]) -> Value {
    let data: Vec<Value> = of.iter().map(|value| json!({ "embedding": [value, 1.0] })).collect();
    json!({ "data": data, "usage": { "prompt_tokens": of.len() } })
}

/// At most two texts go in one request, and whatever failed is asked for once more at once.
fn client<K: Keys>(base: String, keys: K) -> Embeddings<K> {
    let retry = Policy { retries: 1, shortest: Duration::ZERO, longest: Duration::ZERO };
    let limits = Limits { texts: 2, bytes: 1_000 };
    Embeddings::new(Config { base, retry, ..Config::default() }, limits, keys).unwrap()
}

async fn embed<K: Keys>(client: &Embeddings<K>, texts: &[&str]) -> Result<Embedded, Error> {
    let model = EmbeddingModel { name: "m".to_owned(), dimensions: Some(2) };
    client.embed(&model, texts, DEADLINE).await
}

#[tokio::test]
async fn texts_go_in_batches_and_their_vectors_come_in_order() {
    let (base, sent) = provider(vec![(200, vectors(&[1.0, 2.0])), (200, vectors(&[3.0]))]).await;
    let embedded = embed(&client(base, ApiKey::new("key")), &["a", "b", "c"]).await.unwrap();
    assert_eq!(embedded.vectors, [[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]]);
    assert_eq!(embedded.tokens, 3);
    let sent = sent.lock().unwrap().clone();
    let expected = |input: &[&str]| {
        let body = json!({ "model": "m", "dimensions": 2, "encoding_format": "float", "input": input });
        ("Bearer key".to_owned(), body)
    };
    assert_eq!(sent, [expected(&["a", "b"]), expected(&["c"])]);
}

#[tokio::test]
async fn an_outage_is_asked_again_and_a_refusal_is_not() {
    let error = json!({ "error": { "message": "no", "code": "x" } });
    let (base, sent) = provider(vec![(503, error.clone()), (200, vectors(&[1.0]))]).await;
    embed(&client(base, ApiKey::new("key")), &["a"]).await.unwrap();
    assert_eq!(sent.lock().unwrap().len(), 2);

    let (base, sent) = provider(vec![(400, error), (200, vectors(&[1.0]))]).await;
    let refused = embed(&client(base, ApiKey::new("key")), &["a"]).await;
    assert_eq!((refused, sent.lock().unwrap().len()), (Err(Error::Rejected { status: 400 }), 1));
}

#[tokio::test]
async fn what_can_not_be_used_is_not_bought_twice() {
    let (base, sent) = provider(vec![(200, vectors(&[1.0, 2.0])), (200, vectors(&[1.0]))]).await;
    let malformed = embed(&client(base, ApiKey::new("key")), &["a"]).await;
    assert_eq!((malformed, sent.lock().unwrap().len()), (Err(Error::Malformed), 1));
}

/// A store of keys in which the key was changed.
struct Changed;

impl Keys for Changed {
    async fn key(&self, refused: Option<&ApiKey>) -> Result<ApiKey, Error> {
        Ok(ApiKey::new(refused.map_or("old", |_| "new")))
    }
}

#[tokio::test]
async fn a_refused_key_is_fetched_anew_once() {
    let error = json!({ "error": { "message": "no" } });
    let (base, sent) = provider(vec![(401, error.clone()), (200, vectors(&[1.0]))]).await;
    embed(&client(base, Changed), &["a"]).await.unwrap();
    let keys: Vec<String> = sent.lock().unwrap().iter().map(|(key, _)| key.clone()).collect();
    assert_eq!(keys, ["Bearer old", "Bearer new"]);

    let (base, _) = provider(vec![(401, error)]).await;
    assert_eq!(embed(&client(base, ApiKey::new("key")), &["a"]).await, Err(Error::Unauthenticated));
}
