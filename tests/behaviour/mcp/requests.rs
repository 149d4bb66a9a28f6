//! Requests that are refused, and what is left of them: nothing.

use reqwest::Method;
use serde_json::{Value, json};

use super::{ERAS, Era, MCP, NEWEST, error_of, failed, message, post, request};
use crate::support::System;

const JSON: (&str, &str) = ("content-type", "application/json");

#[tokio::test]
async fn bad_requests_have_the_errors_of_the_protocol_and_store_nothing() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let call = request(Era::PerRequest, "tools/call", &message("Hi"));
    let without = |member: &str| {
        let mut call = call.clone();
        call["params"]["_meta"].as_object_mut().unwrap().remove(member);
        call
    };
    let version = ("mcp-protocol-version", NEWEST);
    let (method, name) = (("mcp-method", "tools/call"), ("mcp-name", "default"));
    let body = |body: &Value| body.to_string();
    let mut other = call.clone();
    other["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2031-01-01".into();
    let large = message(&"x".repeat(4_300_000));
    for (headers, body, status, code) in [
        (vec![JSON], "{".to_owned(), 400, -32700),
        (vec![JSON], String::new(), 400, -32700),
        (vec![JSON], body(&json!([call])), 400, -32600),
        (vec![JSON], body(&json!({"jsonrpc": "1.0", "id": 1, "method": "ping"})), 400, -32600),
        (vec![JSON], body(&json!({"jsonrpc": "2.0", "id": 1, "result": {}})), 400, -32600),
        (vec![("content-type", "text/plain")], body(&call), 415, -32600),
        (vec![JSON, ("accept", "text/html")], body(&call), 406, -32600),
        (vec![JSON], body(&request(Era::Handshake, "tools/call", &large)), 413, -32600),
        (vec![JSON, ("mcp-protocol-version", "2031-01-01")], body(&call), 400, -32020),
        (vec![JSON, ("mcp-protocol-version", "2031-01-01"), method, name], body(&other), 400, -32022),
        (
            vec![JSON, ("mcp-protocol-version", "2031-01-01")],
            body(&request(Era::Handshake, "ping", &json!({}))),
            400,
            -32022,
        ),
        (vec![JSON, method, name], body(&call), 400, -32020),
        (vec![JSON, version, name], body(&call), 400, -32020),
        (vec![JSON, version, method], body(&call), 400, -32020),
        (vec![JSON, version, method, ("mcp-name", "workspace")], body(&call), 400, -32020),
        (
            vec![JSON, version, method, name],
            body(&without("io.modelcontextprotocol/protocolVersion")),
            400,
            -32602,
        ),
        (
            vec![JSON, version, method, name],
            body(&without("io.modelcontextprotocol/clientCapabilities")),
            400,
            -32602,
        ),
    ] {
        let refused = ada.raw(Method::POST, MCP, &headers, body.into_bytes()).await;
        let (found, found_code, text) = error_of(&refused);
        assert_eq!((found, found_code), (status, code), "{headers:?} {text}");
    }
    for era in ERAS {
        for (params, code) in [
            (json!({}), -32602),
            (json!({"name": "default", "arguments": []}), -32602),
            (json!({"name": "a b", "arguments": {}}), -32602),
            (json!({"name": "default", "_meta": {"progressToken": {}}}), -32602),
            (json!({"name": "default", "_meta": {"aptix/idempotencyKey": ""}}), -32602),
        ] {
            let refused = post(&ada, era, &[], &request(era, "tools/call", &params)).await;
            assert_eq!((error_of(&refused).0, error_of(&refused).1), (200, code), "{params}");
            assert_eq!(refused.json()["id"], 1);
        }
        for (arguments, word) in [
            (json!({}), "message"),
            (json!({"message": " "}), "message"),
            (json!({"message": "Hi", "session": 7}), "session"),
            (json!({"message": "Hi", "file": "x"}), "file"),
        ] {
            let text = failed(&ada, era, json!({"name": "default", "arguments": arguments})).await;
            assert!(text.contains(word), "{text}");
        }
    }
    assert_eq!(ada.get("/api/ai/agent/sessions").await.result()["Items"], json!([]));
    assert!(system.model_calls().is_empty());
}

#[tokio::test]
async fn other_methods_pages_and_callers_are_refused() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    for method in [Method::GET, Method::DELETE] {
        let refused = ada.raw(method.clone(), MCP, &[("accept", "text/event-stream")], Vec::new()).await;
        assert_eq!((refused.status, refused.header("allow")), (405, Some("POST")), "{method}");
    }
    let ping = request(Era::Handshake, "ping", &json!({}));
    let nobody = post(&system.anonymous(), Era::Handshake, &[], &ping).await;
    assert_eq!((nobody.status, nobody.header("www-authenticate")), (401, Some("Bearer")));
    let page = post(&ada, Era::Handshake, &[("origin", "https://evil.example")], &ping).await;
    assert_eq!(page.status, 403);
    assert_eq!(post(&ada, Era::Handshake, &[("origin", "http://localhost:5173")], &ping).await.status, 200);
    let query = ada.raw(Method::POST, "/v1/mcp?access_token=x", &[JSON], ping.to_string().into_bytes()).await;
    assert_eq!(error_of(&query).0, 400);
}
