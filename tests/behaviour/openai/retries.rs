//! Repeated requests: by their key, and by the SDKs' count of retries.

use reqwest::Method;
use serde_json::json;

use super::{create_with, created, error, id, request, text, weather, with};
use crate::support::System;

#[tokio::test]
async fn same_key_gets_the_same_response() {
    let system = System::start().await;
    let (ada, bob) = (system.client("acme", "ada"), system.client("acme", "bob"));
    let sent = request("Hi [[script: say \"Hello.\"]]");
    let key = [("idempotency-key", "k1")];
    let first = create_with(&ada, &sent, &key).await.json();
    let again = create_with(&ada, &sent, &key).await.json();
    assert_eq!((id(&again), text(&again).as_str()), (id(&first), "Hello."));
    assert_eq!(system.model_calls().len(), 1);
    let other = create_with(&ada, &request("Something else"), &key).await;
    assert_eq!((other.status, error(&other).2.as_str()), (409, "idempotency_error"));
    assert_ne!(id(&create_with(&bob, &sent, &key).await.json()), id(&first), "a key is the user's own");
    let next = with(request("And?"), &json!({"previous_response_id": id(&first)}));
    let key = [("idempotency-key", "k2")];
    let second = create_with(&ada, &next, &key).await.json();
    created(&ada, &with(request("Later"), &json!({"previous_response_id": id(&second)}))).await;
    assert_eq!(id(&create_with(&ada, &next, &key).await.json()), id(&second), "also once newer turns follow");
    assert_eq!(system.model_calls().len(), 4);
}

/// A key that can't be read is no request without a key: that would run the model once for each try.
#[tokio::test]
async fn unreadable_key_or_count_is_refused_by_name() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let chat = json!({"model": "scripted", "messages": [{"role": "user", "content": "Hi"}]});
    for (header, value) in [
        ("idempotency-key", "schlüssel"),
        ("idempotency-key", "鍵"),
        ("x-stainless-retry-count", "ein"),
        ("x-stainless-retry-count", "ü"),
    ] {
        for _ in 0..2 {
            let refused = create_with(&ada, &request("Hi"), &[(header, value)]).await;
            assert_eq!(refused.status, 400, "{header}: {}", refused.text);
            assert_eq!(refused.json()["error"]["param"].as_str().unwrap().to_lowercase(), header);
            let headers = [("content-type", "application/json"), (header, value)];
            let body = chat.to_string().into_bytes();
            assert_eq!(ada.raw(Method::POST, "/v1/chat/completions", &headers, body).await.status, 400);
        }
    }
    assert!(system.model_calls().is_empty());
}

#[tokio::test]
async fn retry_of_an_sdk_finds_the_first_try() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let count = |n: &'static str| [("x-stainless-retry-count", n)];
    let sent = request("Hi [[script: say \"Hello.\"]]");
    let first = create_with(&ada, &sent, &count("0")).await.json();
    let retried = create_with(&ada, &sent, &count("1")).await.json();
    assert_eq!(id(&retried), id(&first));
    assert_eq!(id(&create_with(&ada, &sent, &count("2")).await.json()), id(&first));
    assert_eq!(system.model_calls().len(), 1, "the model is paid once");
    let equal = create_with(&ada, &sent, &count("0")).await.json();
    assert_ne!(id(&equal), id(&first), "an equal request is a new one");
    assert_eq!(
        id(&create_with(&ada, &sent, &count("1")).await.json()),
        id(&equal),
        "a retry finds the latest"
    );
    let next = with(request("And?"), &json!({"previous_response_id": id(&first)}));
    let second = create_with(&ada, &next, &count("0")).await.json();
    assert_eq!(id(&create_with(&ada, &next, &count("1")).await.json()), id(&second));
    let unseen = create_with(&ada, &request("Never arrived"), &count("1")).await;
    assert_eq!(unseen.status, 200, "a retry whose first try never arrived starts the turn");
    assert_eq!(system.model_calls().len(), 4);
}

#[tokio::test]
async fn repeat_after_the_outputs_gets_the_calls() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let script =
        "Hi [[script: say \"I look.\"; call get_weather {\"city\": \"Rome\"}; then; say \"Sunny.\"]]";
    let sent = with(request(script), &json!({"tools": [weather()]}));
    for headers in [[("idempotency-key", "k1")], [("x-stainless-retry-count", "1")]] {
        let first = create_with(&ada, &sent, &headers).await.json();
        let output = json!({
            "type": "function_call_output", "call_id": first["output"][1]["call_id"], "output": "sunny",
        });
        let outputs = json!({
            "model": "agent/default", "previous_response_id": id(&first), "input": [output],
        });
        assert_eq!(text(&created(&ada, &outputs).await), "Sunny.");
        let again = create_with(&ada, &sent, &headers).await;
        assert_eq!((again.status, again.json()["output"].clone()), (200, first["output"].clone()));
    }
    assert_eq!(system.model_calls().len(), 4);
}

#[tokio::test]
async fn equal_requests_without_a_count_are_separate() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let sent = request("Hi");
    let (first, second) = futures::join!(created(&ada, &sent), created(&ada, &sent));
    assert_ne!(id(&first), id(&second));
    assert_eq!(system.model_calls().len(), 2);
}

#[tokio::test]
async fn concurrent_equal_first_tries_are_separate() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let sent = request("Hi");
    let count = [("x-stainless-retry-count", "0")];
    let tries = futures::future::join_all((0..3).map(|_| create_with(&ada, &sent, &count))).await;
    let mut ids: Vec<String> = tries.iter().map(|answer| id(&answer.json()).to_owned()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), system.model_calls().len()), (3, 3));
}
