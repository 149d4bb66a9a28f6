//! Errors in the shape of the client's API, those of the gateway included.

use reqwest::Method;
use serde_json::{Value, json};

use super::{error, request};
use crate::support::{Answer, Client, System};

const JSON: (&str, &str) = ("content-type", "application/json");
const ANTHROPIC: (&str, &str) = ("anthropic-version", "2023-06-01");

/// The error of a refused request in Anthropic's shape, as (status, type).
fn anthropic(answer: &Answer) -> (u16, String) {
    let body: Value = answer.json();
    assert_eq!(body["type"], "error", "{body}");
    assert!(body["error"]["message"].as_str().is_some_and(|text| !text.is_empty()), "{body}");
    assert!(body["request_id"].as_str().is_some_and(|id| !id.is_empty()), "{body}");
    assert!(body.get("Errors").is_none() && body["error"].get("param").is_none(), "{body}");
    (answer.status, body["error"]["type"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn gateway_answers_in_the_shape_of_the_client() {
    let system = System::start().await;
    let (ada, nobody) = (system.client("acme", "ada"), system.anonymous());
    let body = request("Hi").to_string().into_bytes();
    let large = vec![b'x'; 11 << 20];
    for (client, path, body, status, code, kind) in [
        (&nobody, "/v1/responses", &body, 401, "invalid_api_key", "authentication_error"),
        (&nobody, "/v1/chat/completions", &body, 401, "invalid_api_key", "authentication_error"),
        (&ada, "/v1/responses", &large, 413, "PayloadTooLarge", "request_too_large"),
    ] {
        let answer = client.raw(Method::POST, path, &[JSON], body.clone()).await;
        assert_eq!(error(&answer), (status, String::new(), code.to_owned()), "{path}");
        let answer = client.raw(Method::POST, path, &[JSON, ANTHROPIC], body.clone()).await;
        assert_eq!(anthropic(&answer), (status, kind.to_owned()), "{path}");
    }
    let answer = nobody.raw(Method::POST, "/v1/messages", &[JSON], body.clone()).await;
    assert_eq!(anthropic(&answer), (401, "authentication_error".to_owned()));
    for (client, body, status, code) in
        [(&nobody, &body, 401, "Unauthenticated"), (&ada, &large, 413, "PayloadTooLarge")]
    {
        let answer = client.raw(Method::POST, "/v1/mcp", &[JSON], body.clone()).await;
        let error = answer.json();
        assert_eq!(
            (answer.status, &error["jsonrpc"], error.get("id")),
            (status, &json!("2.0"), None),
            "{error}"
        );
        assert_eq!(
            (&error["error"]["code"], &error["error"]["data"]["code"]),
            (&json!(-32600), &json!(code))
        );
        assert!(error["error"]["message"].as_str().is_some_and(|text| !text.is_empty()), "{error}");
    }
    let own = nobody.get("/api/ai/agent/sessions").await;
    assert_eq!(
        (own.status, own.error().as_str()),
        (401, "Unauthenticated"),
        "the Aptix API keeps its envelope"
    );
}

/// Some clients ask for the base URL before their first request.
#[tokio::test]
async fn base_path_and_known_paths_answer_probes() {
    let system = System::start().await;
    let (ada, nobody) = (system.client("acme", "ada"), system.anonymous());
    let probe = async |client: &Client, method, path| client.raw(method, path, &[], Vec::new()).await;
    assert_eq!(probe(&ada, Method::GET, "/v1").await.json()["models"], "/v1/models");
    for path in ["/v1", "/v1/models", "/v1/models/default"] {
        let answer = probe(&ada, Method::HEAD, path).await;
        assert_eq!((answer.status, answer.text.as_str()), (200, ""), "{path}");
        assert_eq!(probe(&nobody, Method::HEAD, path).await.status, 401, "{path}");
        assert_eq!(probe(&nobody, Method::OPTIONS, path).await.status, 204, "{path}");
    }
    assert_eq!(probe(&ada, Method::HEAD, "/v1/nothing").await.status, 404);
    assert_eq!(probe(&ada, Method::HEAD, "/v1/models/nothing").await.status, 404);
}

#[tokio::test]
async fn functions_answer_in_the_shape_of_the_client() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let get = |path: &'static str| ada.raw(Method::GET, path, &[ANTHROPIC], Vec::new());
    for path in ["/v1/models/unknown", "/v1/files/file-1", "/v1/unknown"] {
        assert_eq!(anthropic(&get(path).await), (404, "not_found_error".to_owned()), "{path}");
    }
    let unknown = json!({"model": "gpt-unknown", "input": "Hi"}).to_string().into_bytes();
    let answer = ada.raw(Method::POST, "/v1/responses", &[JSON, ANTHROPIC], unknown).await;
    assert_eq!(anthropic(&answer), (404, "not_found_error".to_owned()));
    assert_eq!(answer.header("x-should-retry"), Some("false"));
}
