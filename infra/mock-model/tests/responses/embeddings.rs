//! Vectors of texts.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::{Server, json_of};

async fn embed(server: &Server, body: Value) -> Response {
    let request = Request::post("/v1/embeddings")
        .header("authorization", "Bearer key")
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .unwrap();
    server.router.clone().oneshot(request).await.unwrap()
}

fn asking(input: impl Into<Value>) -> Value {
    json!({ "model": "text-embedding-3-small", "input": input.into() })
}

fn numbers(embedding: &Value) -> Vec<f32> {
    embedding["embedding"].as_array().unwrap().iter().map(|number| number.as_f64().unwrap() as f32).collect()
}

#[tokio::test]
async fn vectors_come_in_order_with_usage() {
    let server = Server::new();
    let both = json_of(embed(&server, asking(json!(["one text", "another"]))).await).await;
    assert_eq!(both["object"], "list");
    assert_eq!(both["model"], "text-embedding-3-small");
    assert_eq!(both["data"][1]["index"], 1);
    assert!(both["usage"]["total_tokens"].as_u64().unwrap() > 0);
    let alone = json_of(embed(&server, asking("another")).await).await;
    assert_eq!(alone["data"][0]["embedding"], both["data"][1]["embedding"]);
    let vector = numbers(&alone["data"][0]);
    assert_eq!(vector.len(), 1536);
    let length: f32 = vector.iter().map(|number| number * number).sum();
    assert!((length - 1.0).abs() < 1e-4);
    assert_eq!(server.recorder.embeddings().texts, 3);
    assert_eq!(server.recorder.count(), 0);
}

#[tokio::test]
async fn dimensions_and_encoding_follow_the_request() {
    let server = Server::new();
    let mut body = asking("one text");
    body["dimensions"] = json!(64);
    let floats = json_of(embed(&server, body.clone()).await).await;
    body["encoding_format"] = json!("base64");
    let bytes = json_of(embed(&server, body).await).await;
    let bytes = STANDARD.decode(bytes["data"][0]["embedding"].as_str().unwrap()).unwrap();
    let read: Vec<f32> = bytes.chunks(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
    assert_eq!(read, numbers(&floats["data"][0]));
    assert_eq!(read.len(), 64);
}

#[tokio::test]
async fn requests_outside_the_schema_are_refused() {
    let server = Server::new();
    let long = "word ".repeat(8_000);
    let refused = [
        (json!({ "input": "a" }), "you must provide a model parameter"),
        (asking(""), "'$.input' is invalid"),
        (asking(json!([])), "'$.input' is invalid"),
        (asking(json!(["a", ""])), "'$.input' is invalid"),
        (asking(vec!["a"; 2_049]), "maximum length 2048"),
        (asking(long), "maximum context length is 8192 tokens"),
        (asking(vec!["word ".repeat(6_000); 41]), "max 300000 tokens per request"),
        (json!({ "model": "m", "input": "a", "dimensions": 0 }), "'dimensions' = 0"),
        (json!({ "model": "m", "input": "a", "encoding_format": "hex" }), "'float' and 'base64'"),
    ];
    for (body, words) in refused {
        let response = embed(&server, body).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{words}");
        let error = json_of(response).await;
        assert!(error["error"]["message"].as_str().unwrap().contains(words), "{error}");
    }
    let missing = embed(&server, json!({ "model": "missing-model", "input": "a" })).await;
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn single_text_fails_with_details_and_a_batch_without() {
    let server = Server::new();
    let text = "[[embed: status 429 retry-after 1 times 1; delay 1ms]] What then?";
    let refused = embed(&server, asking(text)).await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(embed(&server, asking(text)).await.status(), StatusCode::OK);
    assert_eq!(embed(&server, asking(vec![text, "b"])).await.status(), StatusCode::OK);
    assert_eq!(embed(&server, asking(format!("a.rs\n{text}"))).await.status(), StatusCode::OK);
}
