//! Members of requests, their errors, and the routes beside `/v1/messages`.

use reqwest::Method;
use serde_json::{Value, json};

use super::{MESSAGES, VERSION, created, error, get, request, send, send_to, text, user, with};
use crate::support::System;

const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The members that Claude Code sends, with a system message that is last.
#[tokio::test]
async fn request_of_claude_code_is_accepted() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let body = with(
        request(&json!([
            {"role": "user", "content": [
                {"type": "text", "text": "<system-reminder>Be careful.</system-reminder>"},
                {"type": "text", "text": "Hi [[script: say \"Hello.\"]]"},
            ]},
            {"role": "system", "content": [{"type": "text", "text": "The folder is /tmp.", "cache_control": {"type": "ephemeral"}}]},
        ])),
        &json!({
            "model": "agent/default",
            "max_tokens": 32000,
            "system": [{"type": "text", "text": "billing"}, {"type": "text", "text": "You help.", "cache_control": {"type": "ephemeral"}}],
            "metadata": {"user_id": "{\"device_id\":\"d\",\"session_id\":\"s\"}"},
            "thinking": {"type": "adaptive", "display": "omitted"},
            "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
            "output_config": {"effort": "high"},
        }),
    );
    let headers = [
        ("content-type", "application/json"),
        VERSION,
        ("anthropic-beta", "claude-code-20250219,context-management-2025-06-27,effort-2025-11-24"),
        ("x-claude-code-session-id", "a99d539b-1648-49b9-8806-814bfa2d2784"),
    ];
    let answer =
        ada.raw(Method::POST, "/v1/messages?beta=true", &headers, body.to_string().into_bytes()).await;
    assert_eq!((answer.status, text(&answer.json()).as_str()), (200, "Hello."), "{}", answer.text);
    let model = system.model_calls()[0].to_string();
    for sent in ["You help.", "Be careful.", "The folder is /tmp."] {
        assert!(model.contains(sent), "{sent}: {model}");
    }
    assert_eq!(system.model_calls()[0]["reasoning"]["effort"], "high");
}

#[tokio::test]
async fn images_and_documents_reach_the_model() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let content = json!([
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        {"type": "document", "title": "notes", "source": {"type": "text", "media_type": "text/plain", "data": "lemon"}},
        {"type": "text", "text": "Look [[script: say \"Red.\"]]"},
    ]);
    let message = created(&ada, &request(&json!([{"role": "user", "content": content}]))).await;
    assert_eq!(text(&message), "Red.");
    let model = system.model_calls()[0].to_string();
    assert!(model.contains(PNG) && model.contains("notes.txt"), "{model}");
}

#[tokio::test]
async fn answer_ends_at_a_stop_sequence() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let stops = json!({"stop_sequences": ["</answer>"]});
    let asked = with(request(&json!([user("Hi [[script: say \"42</answer> and more\"]]")])), &stops);
    let message = created(&ada, &asked).await;
    assert_eq!(text(&message), "42");
    assert_eq!(
        (&message["stop_reason"], &message["stop_sequence"]),
        (&json!("stop_sequence"), &json!("</answer>"))
    );
    let stream = send(&ada, &with(asked, &json!({"stream": true}))).await;
    assert!(stream.text.contains("\"text\":\"42\"") && !stream.text.contains("more"), "{}", stream.text);
}

#[tokio::test]
async fn refused_requests_have_errors_of_the_protocol() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let hi = request(&json!([user("Hi")]));
    for (more, message) in [
        (json!({"max_tokens": null}), "max_tokens: Field required"),
        (json!({"container": "c"}), "container: Extra inputs are not permitted"),
        (
            json!({"context_management": {"edits": [{"type": "compact_20260112"}]}}),
            "context_management: Extra inputs are not permitted",
        ),
        (
            json!({"messages": [user("Hi"), {"role": "assistant", "content": "The answer is ("}]}),
            "messages: the conversation must end with a user message or with results of tools",
        ),
    ] {
        let refused = send(&ada, &with(hi.clone(), &more)).await;
        assert_eq!(error(&refused), (400, "invalid_request_error".to_owned(), message.to_owned()));
        assert_eq!(refused.header("x-should-retry"), Some("false"));
    }
    for name in ["claude-sonnet", "agent/nobody"] {
        let unknown = send(&ada, &with(hi.clone(), &json!({"model": name}))).await;
        let (status, kind, message) = error(&unknown);
        assert_eq!((status, kind.as_str()), (404, "not_found_error"));
        assert!(message.starts_with("model: "), "{message}");
    }
    let path = send_to(&ada, "/v1/messages/batches", &json!({})).await;
    assert_eq!(error(&path).1, "not_found_error");
    let large = send(&ada, &request(&json!([user(&"x".repeat(4_300_000))]))).await;
    assert_eq!((error(&large).0, error(&large).1.as_str()), (413, "request_too_large"));
    assert!(system.model_calls().is_empty());
}

#[tokio::test]
async fn failed_turn_is_an_error_and_a_filtered_one_a_refusal() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let failing = |script: &str| request(&json!([user(&format!("Hi [[script: {script}]]"))]));
    let long = send(&ada, &failing("status 400 code context_length_exceeded message \"Xanadu\"")).await;
    let (status, kind, message) = error(&long);
    assert_eq!((status, kind.as_str()), (400, "invalid_request_error"));
    assert!(message.starts_with("prompt is too long: "), "{message}");
    let filtered = created(&ada, &failing("status 400 code content_filter message \"Xanadu\"")).await;
    assert_eq!((&filtered["stop_reason"], text(&filtered).as_str()), (&json!("refusal"), ""));
    let mut streamed = failing("status 401 message \"Xanadu\"");
    streamed["stream"] = json!(true);
    let stream = send(&ada, &streamed).await.text;
    assert!(stream.contains("event: error\n") || stream.contains("\"type\":\"error\""), "{stream}");
    assert!(!stream.contains("Xanadu"), "{stream}");
}

#[tokio::test]
async fn tokens_are_counted() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let body = json!({"model": "scripted", "system": "Be kind.", "messages": [user(&"word ".repeat(400))]});
    let counted = send_to(&ada, "/v1/messages/count_tokens?beta=true", &body).await;
    assert_eq!(counted.status, 200, "{}", counted.text);
    let tokens = counted.json()["input_tokens"].as_u64().unwrap();
    assert!(system.model_calls().is_empty());
    // The agent's own prompt and tools count too.
    let message = created(&ada, &with(body, &json!({"max_tokens": 100}))).await;
    let used = message["usage"]["input_tokens"].as_u64().unwrap();
    let sent = u64::try_from(system.last_call().to_string().len()).unwrap() / 4;
    println!("counted {tokens}, {used} by the provider, about {sent} sent");
    assert!((sent / 2..=sent * 2).contains(&tokens), "{tokens} counted, about {sent} sent");
}

#[tokio::test]
async fn models_and_errors_have_the_shape_of_the_caller() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let page = get(&ada, "/v1/models?limit=5&beta=true").await.json();
    let ids: Vec<&Value> = page["data"].as_array().unwrap().iter().map(|model| &model["id"]).collect();
    assert!(ids.contains(&&json!("agent/default")) && page["has_more"] == false, "{page}");
    assert_eq!(page["data"][0]["type"], "model");
    assert_eq!(get(&ada, "/v1/models/agent/default").await.json()["display_name"], "agent/default");
    let (status, kind, message) = error(&get(&ada, "/v1/models/claude-unknown").await);
    assert_eq!((status, kind.as_str()), (404, "not_found_error"));
    assert!(message.contains("claude-unknown"), "{message}");
    assert_eq!(error(&get(&ada, "/v1/organizations").await).0, 404);
    let other = ada.get("/v1/models").await.json();
    assert_eq!(other["object"], "list", "without the header it is OpenAI's shape");
}

/// On the local cloud alone: API Gateway reads one header.
#[tokio::test]
async fn token_may_be_the_api_key() {
    let system = System::start().await;
    let (_, headers) = system.client("acme", "ada").request_parts("/");
    let token = headers[0].1.trim_start_matches("Bearer ");
    let nobody = system.anonymous();
    let body = request(&json!([user("Hi [[script: say \"Hello.\"]]")])).to_string().into_bytes();
    let headers = [("content-type", "application/json"), VERSION, ("x-api-key", token)];
    let answer = nobody.raw(Method::POST, MESSAGES, &headers, body.clone()).await;
    assert_eq!((answer.status, text(&answer.json()).as_str()), (200, "Hello."));
    let headers = [("content-type", "application/json"), VERSION, ("x-api-key", "sk-ant-other")];
    assert_eq!(nobody.raw(Method::POST, MESSAGES, &headers, body).await.status, 401);
}
