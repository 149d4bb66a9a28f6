//! The mock model as its clients see it.

// The helpers are test code too, which clippy knows of functions marked as tests only.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod embeddings;
mod faults;
mod providers;
mod refusals;
mod replies;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::{Router, response::Response};
use http_body_util::BodyExt;
use mock_model::{Provider, Recorder, WIRES, router};
use serde_json::{Value, json};
use tower::ServiceExt;

/// A server with its own memory.
struct Server {
    recorder: Recorder,
    router: Router,
}

impl Server {
    fn new() -> Self {
        Self::playing(Provider::default())
    }

    fn playing(provider: Provider) -> Self {
        let recorder = Recorder::default();
        let router = router(provider, recorder.clone(), WIRES);
        Self { recorder, router }
    }

    async fn send(&self, body: &Value) -> Response {
        self.send_as("Bearer key", body.to_string()).await
    }

    async fn send_as(&self, authorization: &str, body: String) -> Response {
        let request = Request::post("/v1/responses")
            .header("authorization", authorization)
            .header("content-type", "application/json")
            .body(Body::from(body))
            .unwrap();
        self.router.clone().oneshot(request).await.unwrap()
    }

    /// A plain reply that has to succeed.
    async fn reply(&self, body: &Value) -> Value {
        let response = self.send(body).await;
        assert_eq!(response.status(), StatusCode::OK);
        json_of(response).await
    }

    /// The events of a streamed reply, in order.
    async fn events(&self, mut body: Value) -> Vec<Value> {
        body["stream"] = json!(true);
        let response = self.send(&body).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let text = response.into_body().collect().await.unwrap().to_bytes();
        let text = String::from_utf8(text.to_vec()).unwrap();
        text.lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .map(|data| serde_json::from_str(data).unwrap())
            .collect()
    }
}

async fn json_of(response: Response) -> Value {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&bytes).unwrap()
}

/// A request whose user message says this.
fn asking(instruction: &str) -> Value {
    let text = format!("[MODE: general]\n\n[INSTRUCTION]\n{instruction}");
    json!({
        "model": "scripted",
        "input": [{ "role": "user", "content": [{ "type": "input_text", "text": text }] }],
    })
}

/// The types of events, runs of the same type shown once.
fn types(events: &[Value]) -> Vec<&str> {
    let mut types: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    types.dedup();
    types
}

/// The text of the first message.
fn text_of(response: &Value) -> &str {
    response["output"][0]["content"][0]["text"].as_str().unwrap()
}
