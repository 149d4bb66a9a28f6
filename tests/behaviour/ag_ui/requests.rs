//! Requests: content parts, and what is refused.

use reqwest::Method;
use serde_json::{Value, json};

use super::{BASE, error, input, run, send, text, turn_counts, user, with};
use crate::support::System;

const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[tokio::test]
async fn parts_of_both_versions_reach_the_model() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let source = json!({"type": "data", "value": PIXEL, "mimeType": "image/png"});
    let url = json!({"type": "url", "value": format!("data:image/png;base64,{PIXEL}")});
    let parts = [
        json!({"type": "image", "source": source}),
        json!({"type": "image", "source": url}),
        json!({"type": "binary", "mimeType": "image/png", "data": PIXEL}),
    ];
    for (n, part) in parts.iter().enumerate() {
        let content = json!([{"type": "text", "text": "Look [[script: say \"Seen.\"]]"}, part]);
        let message = json!({"id": "u", "role": "user", "content": content});
        let answer = run(&ada, &input(&format!("t{n}"), "r", &json!([message]))).await;
        assert_eq!(text(&answer), "Seen.");
        assert!(system.model_calls().pop().unwrap().to_string().contains(PIXEL), "{part}");
    }
}

#[tokio::test]
async fn bad_input_names_the_member_and_stores_nothing() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let hi = json!([user("u", "Hi")]);
    let long = "x".repeat(257);
    let message = |message: Value| json!({"messages": [message]});
    let part = |part: Value| message(json!({"id": "u", "role": "user", "content": [part]}));
    let cases = [
        (json!({"threadId": ""}), "threadId"),
        (json!({"threadId": long}), "threadId"),
        (json!({"runId": null}), "runId"),
        (json!({"runId": 7}), "runId"),
        (json!({"parentRunId": " "}), "parentRunId"),
        (json!({"protocolVersion": "new"}), "protocolVersion"),
        (json!({"messages": "Hi"}), "messages"),
        (json!({"messages": []}), "messages"),
        (json!({"messages": [{"id": "a", "role": "assistant", "content": "Hi"}]}), "messages"),
        (message(json!({"role": "user", "content": "Hi"})), "messages.0.id"),
        (message(json!({"id": "u", "role": "robot", "content": "Hi"})), "messages.0.role"),
        (message(json!({"id": "u", "role": "user"})), "messages.0.content"),
        (
            message(json!({"id": "u", "role": "assistant", "toolCalls": [{"id": "c"}]})),
            "messages.0.toolCalls.0.function",
        ),
        (message(json!({"id": "u", "role": "tool", "content": "x", "toolCallId": "c"})), "messages"),
        (part(json!({"type": "audio"})), "messages.0.content.0.type"),
        (
            part(json!({"type": "image", "source": {"type": "url", "value": "https://a.example/b.png"}})),
            "messages.0.content.0.source.type",
        ),
        (
            part(json!({"type": "image", "source": {"type": "data", "value": "?", "mimeType": "image/png"}})),
            "messages.0.content.0.source.value",
        ),
        (json!({"tools": [{"name": "bad name", "description": "x", "parameters": {}}]}), "tools.0"),
        (json!({"tools": [{"description": "x"}]}), "tools.0.name"),
        (json!({"tools": [{"name": "a", "description": "x", "parameters": "x"}]}), "tools.0.parameters"),
        (json!({"context": [{"description": "x"}]}), "context.0.value"),
        (json!({"context": [{"description": "x", "value": "y".repeat(70_000)}]}), "context"),
        (json!({"state": {"x": "y".repeat(40_000)}}), "state"),
        (json!({"resume": [{"interruptId": "i", "status": "resolved"}]}), "resume"),
    ];
    for (members, name) in cases {
        let answer = send(&ada, BASE, &with(input("t", "r", &hi), &members)).await;
        let (status, _, message) = error(&answer);
        assert!(
            [400, 409].contains(&status) && message.starts_with(&format!("{name}: ")),
            "{name}: {status} {message}"
        );
    }
    for body in ["", "[]", "{", "\"x\""] {
        let answer = ada.raw(Method::POST, BASE, &[("content-type", "application/json")], body.into()).await;
        assert_eq!(error(&answer).0, 400, "{body}");
    }
    for (method, path) in
        [(Method::GET, "/v1/ag-ui/agents"), (Method::POST, "/v1/ag-ui/agent/default/suggest")]
    {
        assert_eq!(error(&ada.raw(method, path, &[], Vec::new()).await).0, 404);
    }
    let anonymous = send(&system.anonymous(), BASE, &input("t", "r", &hi)).await;
    assert_eq!(error(&anonymous).0, 401);
    assert_eq!((turn_counts(&ada).await.len(), system.model_calls().len()), (0, 0));
    let stored = system.client("acme", "ada").get(&format!("{BASE}/threads")).await.json();
    assert_eq!(stored, json!({"threads": [], "nextCursor": null}));
}
